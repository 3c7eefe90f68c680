package bind

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/reader"
)

// Errors say why something of the task is not known.
var (
	// To ask for it would take a system call.
	errNoThread   = errors.New("events that come through shared memory do not say in which thread they fired")
	errNoCPU      = errors.New("events that come through shared memory do not say on which CPU they fired")
	errNoUser     = errors.New("events that come through shared memory do not say as which user they fired")
	errUnrecorded = errors.New("events do not hold the CPU and the user: only the kernel tests them, as --where does")
	errNoSlot     = fmt.Errorf("the probe has so many arguments that there is no room for it: more than %d", record.MaxReads-2)
)

// taskInput returns the input for what a name says of the task that fires: pid, tid, comm,
// cpu or uid. The last two came later: if an argument has such a name, it is the
// argument's, and ok is false.
func (s *Schema) taskInput(name string) (in query.Input, ok bool, err error) {
	number := query.Input{Kind: reader.Uint, Size: 4}
	switch name {
	case "pid":
		number.Source = query.InputPID
	case "tid":
		if number.Source = query.InputTID; s.local {
			return number, true, errNoThread
		}
	case "comm":
		return query.Input{Source: query.InputComm, Kind: reader.String}, true, nil
	case "cpu", "uid":
		if _, err := s.Resolve(name); err == nil {
			return number, false, nil
		}
		number.Source, err = s.besideArguments(name, &number)
	default:
		return number, false, nil
	}
	return number, true, err
}

// besideArguments returns where the number of the CPU or of the user comes from.
func (s *Schema) besideArguments(name string, in *query.Input) (query.Source, error) {
	source, slot, unknown := query.InputCPU, s.cpu, errNoCPU
	if name == "uid" {
		source, slot, unknown = query.InputUID, s.uid, errNoUser
	}
	switch {
	case s.local:
		return source, unknown
	case slot == noSlot:
		return source, errNoSlot
	case slot >= 0:
		in.Index = slot
		return query.InputOperand, nil
	case s.onlyRecords, s.saved:
		return source, errUnrecorded
	}
	return source, nil
}

const (
	notRecorded = -1
	noSlot      = -2
)

// recordTask records the CPU and the user if something that is computed from records asks
// for them. What has a place in the record, as blocks have, is bound afterwards.
func (b *Binder) recordTask(sc *Schema) {
	if !b.Recorded && !b.Keep {
		return
	}
	names := b.namesUsed()
	if b.Keep {
		names = []string{"cpu", "uid"}
	}
	for _, t := range []struct {
		name string
		slot *int
		op   operand.Operand
	}{
		{"cpu", &sc.cpu, operand.Operand{Kind: operand.CPU, Size: 4}},
		{"uid", &sc.uid, operand.Operand{Kind: operand.UID, Size: 4}},
	} {
		switch {
		case *t.slot != notRecorded || !slices.Contains(names, t.name):
		case sc.Sig.Reads() >= record.MaxReads-1:
			*t.slot = noSlot
		default:
			*t.slot = sc.Sig.Read(t.op)
		}
	}
}
