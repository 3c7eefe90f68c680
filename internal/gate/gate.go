package gate

import (
	"errors"
	"fmt"
	"os"

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
}

// state is what this process tells programs and a guard.
type state struct {
	Guarded uint64 // 1 if a guard lets the process go on whatever rights it has got
	Left    uint64 // 1 when nobody is left to let it go on
	Only    uint64 // Counts.Only when the process was last let go on
	Also    uint64 // Counts.Also at that time
	_       uint64
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
	prog, err := ebpf.NewProgram(g.builder.execution())
	if err != nil {
		return nil, fmt.Errorf("load the program that stops a process after its exec: %w", err)
	}
	defer prog.Close() // the link keeps the program
	g.execution, err = link.AttachRawTracepoint(link.RawTracepointOptions{Name: "sched_process_exec", Program: prog})
	if err != nil {
		return nil, fmt.Errorf("attach to sched_process_exec: %w", err)
	}
	return g, nil
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
	if o == nil || o.ID == g.linkerID && c.Replaced == g.replaced {
		return nil // the link goes with the process
	}
	if g.linker != nil {
		g.linker.Close()
		g.linker = nil
	}
	g.linkerID, g.replaced = o.ID, c.Replaced
	probe, err := debugState(o)
	if err != nil {
		return err
	}
	// Kernels with uprobe_multi need a program loaded for it, others one for perf
	// events.
	var first error
	for _, typ := range []ebpf.AttachType{ebpf.AttachTraceUprobeMulti, ebpf.AttachNone} {
		g.linker, err = g.attach(typ, probe)
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
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
	if g.execution != nil {
		errs = append(errs, g.execution.Close())
		g.execution = nil
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

// Supported returns nil if this kernel and this process's privileges allow gates.
func Supported() error {
	g, err := New(os.Getpid(), nil)
	if err != nil {
		return err
	}
	return g.Close()
}
