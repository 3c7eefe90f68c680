package gate

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/procfs"
)

// Gate stops a process by SIGSTOP, provided that somebody lets it go on if its
// parent is killed: the kernel, if the parent asked for a SIGCONT to the process
// (PR_SET_PDEATHSIG), or a [Guard].
type Gate struct {
	pid       int
	builder   *builder
	counters  *ebpf.Map
	guard     *Guard // nil if there is none
	execution link.Link
	fork      link.Link
	linker    *attach.Attachment // to the dynamic linker, nil without one
	linkerID  procfs.ID
	replaced  uint64 // Counts.Replaced when linker was attached
}

// Counts are the numbers of events at the gate.
type Counts struct {
	Stops uint64 // SIGSTOPs sent
	// Unheld counts places at which the process was not stopped, since nobody
	// would let it go on if its parent were killed: the kernel forgets
	// PR_SET_PDEATHSIG when a program gets other rights, or is executed by
	// another thread than the first.
	Unheld uint64
	// Replaced counts programs executed by another thread than the first. That
	// thread takes the first one's place, and links restricted to the process are
	// dead.
	Replaced uint64
	// Also counts stops at which another sender's signal was pending that also stops the process.
	Also uint64
	// Only counts stops after which only a guard would let the process go on.
	Only uint64
	// Forked counts the processes that the process has started.
	Forked uint64
}

// state is what this process tells programs and a guard.
type state struct {
	Guarded uint64 // 1 if a guard lets the process go on whatever rights it has got
	Left    uint64 // 1 when nobody is left to let it go on
	Only    uint64 // Counts.Only when the process was last let go on
	Also    uint64 // Counts.Also at that time
	_       [2]uint64
}

func newCounters() (*ebpf.Map, error) {
	m, err := ebpf.NewMap(&ebpf.MapSpec{Name: "gate_counters", Type: ebpf.Array, KeySize: 4, ValueSize: countersSize, MaxEntries: 2})
	if err != nil {
		return nil, fmt.Errorf("create counters of stops: %w", err)
	}
	return m, nil
}

// New puts up a gate for process pid, a child of this one: the process stops at
// each program that it executes from now on. The error wraps ebpf.ErrNotSupported
// if the kernel has no support. guard may be nil.
func New(pid int, guard *Guard) (_ *Gate, err error) {
	g := &Gate{pid: pid, guard: guard}
	defer func() {
		if err != nil {
			g.Close()
		}
	}()
	if guard != nil {
		g.counters, err = guard.counters.Clone()
	} else {
		g.counters, err = newCounters()
	}
	if err != nil {
		return nil, err
	}
	if g.builder, err = newBuilder(pid, g.counters); err != nil {
		return nil, err
	}
	if g.execution, err = attachTracepoint("sched_process_exec", g.builder.execution()); err != nil {
		return nil, err
	}
	if g.fork, err = attachTracepoint("sched_process_fork", g.builder.fork()); err != nil {
		return nil, err
	}
	return g, nil
}

// attachTracepoint loads a program and attaches it.
func attachTracepoint(name string, spec *ebpf.ProgramSpec) (link.Link, error) {
	prog, err := ebpf.NewProgram(spec)
	if err != nil {
		return nil, fmt.Errorf("load the program for %s: %w", name, err)
	}
	defer prog.Close() // the link keeps the program
	l, err := link.AttachRawTracepoint(link.RawTracepointOptions{Name: name, Program: prog})
	if err != nil {
		return nil, fmt.Errorf("attach to %s: %w", name, err)
	}
	return l, nil
}

// Linker also makes the process stop when its dynamic linker has mapped libraries. Call it while
// the process stands still, after each program that it has executed; a program without a dynamic
// linker maps no libraries.
func (g *Gate) Linker() error {
	c, err := g.Counts()
	if err != nil {
		return err
	}
	o, err := linkerOf(g.pid)
	if err != nil {
		return err
	}
	if o != nil && o.ID == g.linkerID && c.Replaced == g.replaced {
		return nil // the link goes with the process
	}
	if g.linker != nil {
		g.linker.Close()
		g.linker = nil
	}
	if g.linkerID, g.replaced = (procfs.ID{}), c.Replaced; o == nil {
		return nil
	}
	g.linkerID = o.ID
	probe, err := debugState(o)
	if err != nil {
		return err
	}
	g.linker, err = attachMapped(g.pid, probe, g.builder.mapped)
	return err
}

// Counts returns what has happened until now.
func (g *Gate) Counts() (c Counts, err error) {
	return countsIn(g.counters)
}

func countsIn(counters *ebpf.Map) (c Counts, err error) {
	if err := counters.Lookup(uint32(entryCounts), &c); err != nil {
		return c, fmt.Errorf("read the counts of stops: %w", err)
	}
	return c, nil
}

// Continued notes that the process has been let go on, or will be by somebody
// else, after the stops of c.
func (g *Gate) Continued(c Counts) error {
	if g.guard == nil {
		return nil
	}
	return g.guard.continued(c)
}

// Close removes the gate. It does not let a stopped process go on. Calling it
// again is safe.
func (g *Gate) Close() error {
	var errs []error
	for _, l := range []*link.Link{&g.execution, &g.fork} {
		if *l != nil {
			errs = append(errs, (*l).Close())
			*l = nil
		}
	}
	if g.linker != nil {
		errs = append(errs, g.linker.Close())
		g.linker = nil
	}
	if g.counters != nil {
		errs = append(errs, g.counters.Close())
	}
	return errors.Join(errs...)
}
