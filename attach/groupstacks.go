package attach

import (
	"cmp"
	"time"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach/internal/codegen"
	"github.com/go-usdt/usdt/attach/internal/load"
	"github.com/go-usdt/usdt/attach/internal/numbering"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/sums"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/decode"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/symbols"
	"github.com/go-usdt/usdt/total"
)

// takeStacks takes the stacks of groups that have been read.
func (a *totals) takeStacks(m *ebpf.Map, all *sums.Sums) error {
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
	all.AddStacks(stacks)
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
	c, err := a.programs.maps.Count()
	if n := c.At(codegen.CounterStacks); err != nil || n == *met {
		return nil, err
	} else {
		*met = n
	}
	m := a.programs.maps.Stacks[a.epoch]
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

// unwind appends the addresses to which the copy of the stack in a record leads to dst.
func (a *totals) unwind(dst []uint64, st *record.Stack, rec record.Record) (symbols.Calls, error) {
	registers, stack, err := st.Copy(rec)
	if err != nil {
		return symbols.Calls{}, err
	}
	probe := a.sites.Load().Probes[rec.Site()]
	regs, err := symbols.NewRegisters(probe.Machine, registers)
	if err != nil {
		return symbols.Calls{}, err
	}
	return a.code.Of(rec.PID(), probe, append(dst, regs.PC())).Unwind(dst, regs, stack), nil
}

// unite adds up groups whose stacks have the same frames; see [sums.Sums.Unite].
func (a *totals) unite(all *sums.Sums, over func() bool) {
	sites := a.sites.Load()
	all.Unite(sites.Groups, func(st *query.GroupStack) *event.Stack { return a.nameStack(st, sites) }, over)
}

// groupsOf returns the groups that have events, the least used ones as one if they are too
// many.
func (a *totals) groupsOf(all *sums.Sums) []total.Group {
	a.unite(all, nil)
	return all.Groups(a.sites.Load().Probes)
}

// nameStack names the frames of a stack.
func (a *totals) nameStack(st *query.GroupStack, sites *numbering.Table) *event.Stack {
	if st.Saved != nil {
		stack := decode.FirstCalls(st.Saved, a.options.Stack)
		decode.DropUnmapped(stack)
		return stack
	}
	probe, layout := &reader.Probe{}, &record.Stack{Most: len(st.PCs)}
	if st.Site < len(sites.Schemas) && sites.Schemas[st.Site] != nil {
		probe, layout = sites.Probes[st.Site], &sites.Schemas[st.Site].Layout.Stack
	}
	stack := decode.NamedStack(st.Calls, layout, a.code.Of(st.PID, probe, st.PCs))
	decode.DropUnmapped(stack)
	return stack
}
