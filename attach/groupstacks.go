package attach

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"time"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach/internal/codegen"
	"github.com/go-usdt/usdt/attach/internal/load"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/symbols"
)

var (
	errNoStack   = errors.New("the stack could not be read")
	errStackLost = errors.New("there were too many stacks to keep its addresses")
)

// addStacks adds stacks by their hashes.
func (s *sums) addStacks(stacks map[uint64]query.GroupStack) {
	if s.stacks == nil {
		s.stacks = stacks
		return
	}
	for hash, st := range stacks {
		s.stacks[hash] = st
	}
}

// takeStacks takes the stacks of groups that have been read.
func (a *totals) takeStacks(m *ebpf.Map, all *sums) error {
	if m == nil {
		return nil
	}
	stacks := map[uint64]query.GroupStack{}
	var damaged error // one is not the reason to lose others, which the map has no more
	err := load.EachStack(m, m.BatchLookupAndDelete, func(hash uint64, value []byte) error {
		st, err := query.ReadGroupStack(value)
		if err == nil {
			stacks[hash] = st
		}
		damaged = cmp.Or(damaged, err)
		return nil
	})
	all.addStacks(stacks)
	return cmp.Or(err, damaged)
}

// meetInterval is how often it is looked whether there are new stacks, and so perhaps new
// processes.
const meetInterval = 20 * time.Millisecond

// meet looks at the processes of new stacks while these live, until tracing has ended.
func (a *totals) meet() {
	met := uint64(0)
	for tick := time.NewTicker(meetInterval); ; {
		select {
		case <-tick.C:
		case <-a.done.Done():
			tick.Stop()
			return
		}
		if err := a.meetNew(&met); err != nil {
			a.fail(err)
			return
		}
	}
}

// meetNew looks at the processes of stacks if there are more than met.
func (a *totals) meetNew(met *uint64) error {
	pids, err := a.newStacks(met)
	for pid := range pids {
		if a.code.Closed() {
			break
		}
		a.code.Process(pid)
	}
	return err
}

// newStacks returns the processes of stacks if there are more than met.
func (a *totals) newStacks(met *uint64) (pids map[int]bool, err error) {
	if !a.mu.TryLock() {
		return nil, nil // Close may wait for this goroutine; others take what there is
	}
	defer a.mu.Unlock()
	if a.closed {
		return nil, nil
	}
	c, err := a.maps.Count()
	if n := c.At(codegen.CounterStacks); err != nil || n == *met {
		return nil, err
	} else {
		*met = n
	}
	m := a.maps.Stacks[a.epoch]
	if m == nil {
		return nil, nil
	}
	pids = map[int]bool{}
	return pids, load.EachStack(m, m.BatchLookup, func(_ uint64, value []byte) error {
		st, err := query.ReadGroupStack(value)
		if err == nil {
			pids[st.PID] = true
		}
		return err
	})
}

// unite adds up groups whose stacks have the same frames: groups of processes that run the same
// files, and groups that differ only in what is not shown. Keys have numbers in place of hashes
// then. When more groups come, all can be united again. unite ends early if over says that
// nobody asks for groups any more; over may be nil.
func (a *totals) unite(all *sums, over func() bool) {
	part := all.layout.StackPart()
	if part == nil {
		return
	}
	if all.named == nil {
		all.named = map[uint64]*event.Stack{}
	}
	numbers := map[uint64]uint64{0: 0}
	sites := a.sites.Load()
	of := make(map[string][]uint64, len(all.of))
	old := all.of
	all.of = of
	for key, words := range old {
		if over != nil && over() {
			return
		}
		if isOther([]byte(key)) {
			all.addWords(key, words)
			continue
		}
		b := []byte(key)
		hash := binary.NativeEndian.Uint64(b[part.Offset:])
		number, known := numbers[hash]
		if !known {
			number = hash
			if st, ok := all.stacks[hash]; ok && all.named[hash] == nil {
				stack := a.nameStack(&st, sites)
				number = identify(stack, st.PID)
				all.named[number] = stack
			}
			numbers[hash] = number
		}
		binary.NativeEndian.PutUint64(b[part.Offset:], number)
		for i := range all.layout.Parts {
			if p := &all.layout.Parts[i]; p.In.Source == query.InputProbe {
				site := b[p.Offset:]
				if n := binary.NativeEndian.Uint64(site); n < uint64(len(sites.groups)) {
					binary.NativeEndian.PutUint64(site, uint64(sites.groups[n]))
				}
			}
		}
		all.addWords(string(b), words)
	}
	all.stacks = nil
}

// unwind appends the addresses to which the copy of the stack in a record leads to dst.
func (a *totals) unwind(dst []uint64, st *record.Stack, rec record.Record) (symbols.Calls, error) {
	registers, stack, err := st.Copy(rec)
	if err != nil {
		return symbols.Calls{}, err
	}
	probe := a.sites.Load().probes[rec.Site()]
	regs, err := symbols.NewRegisters(probe.Machine, registers)
	if err != nil {
		return symbols.Calls{}, err
	}
	return a.code.Of(rec.PID(), probe, append(dst, regs.PC())).Unwind(dst, regs, stack), nil
}

// nameStack names the frames of a stack.
func (a *totals) nameStack(st *query.GroupStack, sites *siteTable) *event.Stack {
	if st.Saved != nil {
		stack := st.Saved.Named(a.options.Stack)
		stack.DropUnmapped()
		return stack
	}
	probe, layout := &reader.Probe{}, &record.Stack{Most: len(st.PCs)}
	if st.Site < len(sites.schemas) && sites.schemas[st.Site] != nil {
		probe, layout = sites.probes[st.Site], &sites.schemas[st.Site].Layout.Stack
	}
	stack := event.NamedStack(st.Calls, layout, a.code.Of(st.PID, probe, st.PCs))
	stack.DropUnmapped()
	return stack
}

// identify returns a number that differs between stacks whose frames differ, never 0. Frames
// without a module or a function are those of their process.
func identify(s *event.Stack, pid int) uint64 {
	var b []byte
	number := func(n uint64) { b = binary.AppendUvarint(b, n) }
	text := func(s string) {
		number(uint64(len(s)))
		b = append(b, s...)
	}
	for _, f := range s.Frames() {
		text(f.Func)
		text(f.File)
		number(uint64(f.Line))
		text(f.Module)
		text(f.BuildID)
		number(f.Offset)
		if f.Module == "" && f.Func == "" {
			number(uint64(pid))
			number(f.Address)
		}
	}
	if s.Err != nil {
		text(s.Err.Error())
	}
	sum := sha256.Sum256(b)
	return max(1, binary.NativeEndian.Uint64(sum[:]))
}

// decodeStack sets the value of a key that is a stack, by its number.
func decodeStack(arg *event.Arg, number uint64, named map[uint64]*event.Stack) {
	switch s := named[number]; {
	case number == 0:
		arg.Err = errNoStack
	case s == nil:
		arg.Err = errStackLost
	default:
		arg.Value = s
	}
}
