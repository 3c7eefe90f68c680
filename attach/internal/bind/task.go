package bind

import (
	"fmt"
	"slices"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/internal/record"
)

// errNoSlot says why something of the task is not known.
var errNoSlot = fmt.Errorf("the probe has too many arguments for it to be recorded as well: more than %d", record.MaxReads-2)

// unshared says what is not known of events through shared memory: to ask for it would take a
// system call.
func unshared(k *query.TaskKey) error {
	return fmt.Errorf("events that come through shared memory do not say %s", k.Unshared)
}

// taskInput returns the input for what a name says of the task that fires, see query.TaskKeys.
// If an argument has the name of something that came later, it is the argument's, and ok is false.
func (s *Schema) taskInput(name string) (in query.Input, ok bool, err error) {
	i := query.TaskKeyOf(name)
	if i < 0 {
		return in, false, nil
	}
	k := &query.TaskKeys[i]
	in = query.Input{Source: k.Source, Kind: k.Kind, Size: k.Size, Group: k.Group}
	if k.What != "" {
		if _, err := s.Resolve(name); err == nil {
			return in, false, nil
		}
	}
	switch {
	case s.local && k.Unshared != "":
		return in, true, unshared(k)
	case k.What == "":
	case *s.taskSlot(name) == noSlot:
		return in, true, errNoSlot
	case *s.taskSlot(name) >= 0:
		in.Source, in.Index = query.InputOperand, *s.taskSlot(name)
	case s.onlyRecords, s.saved:
		return in, true, fmt.Errorf("events do not hold %s: only the kernel tests it, as --where does", k.What)
	}
	return in, true, nil
}

const (
	notRecorded = -1
	noSlot      = -2
)

// taskSlot returns the slot of what a name of query.TaskKeys says.
func (s *Schema) taskSlot(name string) *int { return &s.task[query.TaskSlotOf(name)] }

// recordTask records what records do not hold otherwise if something that is computed from them
// asks for it. Fields with a place in the record, such as blocks, are bound afterwards.
func (b *Binder) recordTask(sc *Schema) {
	var names []string
	switch {
	case b.Keep:
		if names = []string{"cpu", "uid"}; b.Groups != nil { // for which files have a place
			names = append(names, query.CgroupKey)
		}
	case b.Recorded || b.On != nil:
		names = b.namesUsed()
	}
	if b.InEvents {
		names = append(names, query.CgroupKey)
	}
	for i := range query.TaskKeys {
		k, slot := &query.TaskKeys[i], sc.taskSlot(query.TaskKeys[i].Name)
		switch {
		case k.What == "", *slot != notRecorded, !slices.Contains(names, k.Name):
		case sc.Sig.Reads() >= record.MaxReads-1:
			*slot = noSlot
		default:
			*slot = sc.Sig.Read(operand.Operand{Kind: operand.Task, Size: k.Size, Value: uint64(k.Source)})
		}
	}
	sc.Group = max(*sc.taskSlot(query.CgroupKey), notRecorded) + 1
}
