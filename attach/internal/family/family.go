package family

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"github.com/go-usdt/usdt/attach/internal/process"
	"github.com/go-usdt/usdt/internal/kernel"
	"github.com/go-usdt/usdt/internal/procfs"
)

// Family is processes with their descendants.
type Family struct {
	Table *ebpf.Map // as that of [process.NewTable]; it belongs to the family
	links []link.Link
	forks []*ebpf.Program // each enters children

	missed []uint64 // runs of forks, until the last look for children
	late   int      // processes that all missed and a look found

	ends   *ebpf.Map // see end
	mu     sync.Mutex
	ending map[uint32]ending
}

// copies is how often each program is attached. The kernel leaves out a program while it is
// preempted in another process on that CPU, see [kernel.Missed], and hardly ever both.
const copies = 2

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
	f := &Family{ending: map[uint32]ending{}}
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
	if f.ends, err = newEnds(); err != nil {
		return nil, err
	}
	b, err := newBuilder(f.Table, f.ends)
	if err != nil {
		return nil, err
	}
	for i := range copies {
		if err := f.attach("sched_process_exit", b.exit()); err != nil {
			return nil, err
		}
		if err := f.attach("sched_process_fork", b.fork(i == 0)); err != nil {
			return nil, err
		}
	}
	f.missed = make([]uint64, len(f.forks))
	_, err = f.enterDescendants(pids)
	return f, err
}

// attach attaches a program.
func (f *Family) attach(tracepoint string, spec *ebpf.ProgramSpec) error {
	prog, err := ebpf.NewProgram(spec)
	if err != nil {
		return fmt.Errorf("load the program for %s, to follow children: %w", tracepoint, err)
	}
	l, err := link.AttachRawTracepoint(link.RawTracepointOptions{Name: tracepoint, Program: prog})
	if err != nil {
		prog.Close()
		return fmt.Errorf("attach to %s, to follow children: %w", tracepoint, err)
	}
	f.links = append(f.links, l)
	if spec.Name == forkName {
		f.forks = append(f.forks, prog)
		return nil
	}
	return prog.Close() // the link keeps it
}

// enterDescendants enters the descendants that processes have, and returns how many. A process that
// is started meanwhile by one that has yet to be entered is found in the next round.
func (f *Family) enterDescendants(pids []int) (entered int, err error) {
	known := map[int]bool{}
	for _, pid := range pids {
		known[pid] = true
	}
	for {
		all, err := procfs.PIDs()
		if err != nil {
			return entered, err
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
					if !f.has(child) {
						found = append(found, child)
					}
				}
			}
			at = append(at, children[at[0]]...)
		}
		if len(found) == 0 {
			return entered, nil
		}
		time.Sleep(again)
		for _, pid := range found {
			if f.has(pid) {
				continue // the kernel has entered it, which shows a process before it runs the program
			}
			procs, err := process.Hold([]int{pid})
			if err == nil {
				err = process.Enter(f.Table, procs, pid)
				procs.Close()
			}
			if err == nil {
				entered++
			}
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return entered, err
			}
		}
	}
}

// has reports whether the table has a process.
func (f *Family) has(pid int) bool {
	value, err := f.Table.LookupBytes(uint32(pid))
	return err == nil && value != nil
}

// PIDs returns the processes that live.
func (f *Family) PIDs() (pids []int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var pid uint32
	var life [2]uint64
	entries := f.Table.Iterate()
	for entries.Next(&pid, &life) {
		if pid != counts && !f.isEnding(pid, life[0]) {
			pids = append(pids, int(pid))
		}
	}
	slices.Sort(pids)
	return slices.Compact(pids), entries.Err() // a table that changes has some twice
}

// lookEvery is how often the family is looked at for what the kernel's programs have missed.
const lookEvery = 100 * time.Millisecond

// again is how long the kernel may take to run its programs.
const again = time.Millisecond

// Wait returns when all have ended, or ctx is done. The error says that there were too many, that
// some were found late, or that they cannot be waited for.
//
// Wait strikes out processes that have ended, also if all programs missed the exit, and looks for
// children if all missed a fork.
func (f *Family) Wait(ctx context.Context) error {
	var before, after [2]uint64
	for ctx.Err() == nil {
		err := f.takeEnds(time.Now())
		if err == nil {
			err = f.enterMissed()
		}
		if err == nil {
			err = f.Table.Lookup(uint32(counts), &before)
		}
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
				time.Sleep(again) // for what else has programs where the last one ends
				break
			}
			continue // one was entered where the table had been read, and its parent has ended
		}
		if err := f.await(ctx, pids[0]); err != nil {
			return err
		}
	}
	switch {
	case after[0] > 0:
		return fmt.Errorf("%d processes were not traced: more than %d lived at a time", after[0], room)
	case f.late > 0:
		return fmt.Errorf("%d processes were traced up to %s late: the kernel left out the programs that follow children", f.late, lookEvery)
	}
	return nil
}

// await waits a while until a process has ended and is no longer in the table.
func (f *Family) await(ctx context.Context, pid int) error {
	var life, now [2]uint64
	if err := f.Table.Lookup(uint32(pid), &life); err != nil {
		return nil // the kernel has struck it out
	}
	procs, err := process.Hold([]int{pid})
	if err == nil {
		within, cancel := context.WithTimeout(ctx, lookEvery)
		err = procs.Wait(within, pid)
		cancel()
		procs.Close()
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded), ctx.Err() != nil:
		return nil
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return err
	}
	time.Sleep(again)
	if f.Table.Lookup(uint32(pid), &now) == nil && now == life { // else it is another process
		f.Table.Delete(uint32(pid))
	}
	return nil
}

// enterMissed enters the descendants that all copies of the program may have missed since the last
// call, as far as their parents live.
func (f *Family) enterMissed() error {
	all := true
	for i, prog := range f.forks {
		missed, err := kernel.Missed(prog)
		if err != nil {
			return err
		}
		all = all && missed != f.missed[i]
	}
	if !all {
		return nil
	}
	for i, prog := range f.forks {
		f.missed[i], _ = kernel.Missed(prog) // it could be read before
	}
	pids, err := f.PIDs()
	if err != nil {
		return err
	}
	late, err := f.enterDescendants(pids)
	f.late += late
	return err
}

// Close ends following.
func (f *Family) Close() error {
	var errs []error
	for _, l := range f.links {
		errs = append(errs, l.Close())
	}
	for _, m := range []*ebpf.Map{f.Table, f.ends} {
		if m != nil {
			errs = append(errs, m.Close())
		}
	}
	for _, prog := range f.forks {
		errs = append(errs, prog.Close())
	}
	f.links, f.Table, f.ends, f.forks = nil, nil, nil, nil
	return errors.Join(errs...)
}
