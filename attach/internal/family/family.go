package family

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"github.com/go-usdt/usdt/attach/internal/process"
	"github.com/go-usdt/usdt/internal/procfs"
)

// Family is processes with their descendants.
type Family struct {
	Table *ebpf.Map // as that of [process.NewTable]; it belongs to the family
	links []link.Link
}

// room is how many processes of a family may live at a time: as many as default pid_max allows.
const room = 1 << 15

// counts is the entry that has two numbers: the processes that did not fit into the table, and
// those entered by programs.
const counts = 0

// Follow returns the family of processes, from now on and with the descendants that they have.
func Follow(pids []int) (_ *Family, err error) {
	procs, err := process.Hold(pids)
	if err != nil {
		return nil, err
	}
	defer procs.Close()
	f := &Family{}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	if f.Table, err = process.NewTable(procs, room+1); err != nil {
		return nil, err
	}
	if err := f.Table.Put(uint32(counts), [2]uint64{}); err != nil {
		return nil, fmt.Errorf("prepare the table of processes: %w", err)
	}
	b, err := newBuilder(f.Table)
	if err != nil {
		return nil, err
	}
	for _, p := range []struct {
		tracepoint string
		spec       *ebpf.ProgramSpec
	}{{"sched_process_exit", b.exit()}, {"sched_process_fork", b.fork()}} {
		prog, err := ebpf.NewProgram(p.spec)
		if err != nil {
			return nil, fmt.Errorf("load the program for %s, to follow children: %w", p.tracepoint, err)
		}
		l, err := link.AttachRawTracepoint(link.RawTracepointOptions{Name: p.tracepoint, Program: prog})
		prog.Close() // the link keeps the program
		if err != nil {
			return nil, fmt.Errorf("attach to %s, to follow children: %w", p.tracepoint, err)
		}
		f.links = append(f.links, l)
	}
	return f, f.enterDescendants(pids)
}

// enterDescendants enters the descendants that processes have. A process that is started
// meanwhile by one that has yet to be entered is found in the next round.
func (f *Family) enterDescendants(pids []int) error {
	known := map[int]bool{}
	for _, pid := range pids {
		known[pid] = true
	}
	for {
		all, err := procfs.PIDs()
		if err != nil {
			return err
		}
		children := map[int][]int{}
		for _, pid := range all {
			if parent := procfs.Parent(pid); parent > 0 {
				children[parent] = append(children[parent], pid)
			}
		}
		var found []int
		for at := slices.Clone(pids); len(at) > 0; at = at[1:] {
			for _, child := range children[at[0]] {
				if !known[child] {
					known[child] = true
					found = append(found, child)
				}
			}
			at = append(at, children[at[0]]...)
		}
		if len(found) == 0 {
			return nil
		}
		for _, pid := range found {
			procs, err := process.Hold([]int{pid})
			if err == nil {
				err = process.Enter(f.Table, procs, pid)
				procs.Close()
			}
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
}

// PIDs returns the processes that live.
func (f *Family) PIDs() (pids []int, err error) {
	var pid uint32
	var life [2]uint64
	entries := f.Table.Iterate()
	for entries.Next(&pid, &life) {
		if pid != counts {
			pids = append(pids, int(pid))
		}
	}
	slices.Sort(pids)
	return slices.Compact(pids), entries.Err() // a table that changes has some twice
}

// again is how often a process is looked at that ends.
const again = time.Millisecond

// Wait returns when all have ended, or ctx is done. The error says that there were too many, or
// that they cannot be waited for.
func (f *Family) Wait(ctx context.Context) error {
	var before, after [2]uint64
	for ctx.Err() == nil {
		err := f.Table.Lookup(uint32(counts), &before)
		var pids []int
		if err == nil {
			pids, err = f.PIDs()
		}
		if err == nil {
			err = f.Table.Lookup(uint32(counts), &after)
		}
		if err != nil {
			return err
		}
		if len(pids) == 0 {
			if before[1] == after[1] {
				break
			}
			continue // one was entered where the table had been read, and its parent has ended
		}
		procs, err := process.Hold(pids[:1])
		if err == nil {
			err = procs.Wait(ctx, pids[0])
			procs.Close()
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(again): // until the kernel has struck it out
		}
	}
	if after[0] > 0 {
		return fmt.Errorf("%d processes were not traced: more than %d lived at a time", after[0], room)
	}
	return nil
}

// Close ends following.
func (f *Family) Close() error {
	var errs []error
	for _, l := range f.links {
		errs = append(errs, l.Close())
	}
	if f.Table != nil {
		errs = append(errs, f.Table.Close())
	}
	f.links, f.Table = nil, nil
	return errors.Join(errs...)
}
