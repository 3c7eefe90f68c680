package attach

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/load"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/internal/privilege"
	"github.com/go-usdt/usdt/internal/procfs"
)

// Signal is sent by the kernel to the process that fires an event, at the probe: the thread
// executes nothing further before the process has it. SIGSTOP makes a breakpoint over all
// processes of a probe, SIGQUIT has a Go program print its goroutines or a JVM its threads.
//
// The session then delivers the events whose process was sent the signal, and no others, which
// count as filtered. A process is spared if it is init, this process or one that this process
// descends from, or has no PID in this process's PID namespace. If this process
// lacks CAP_KILL, processes of other users are spared as well, as kill(2) has it; one of
// [Target.PIDs] is a [PrivilegeError].
type Signal struct {
	// Number is the signal; 0 for none.
	Number syscall.Signal
	// Times is how often it is sent, in all processes together; 0 means once.
	Times int
	// Leave leaves the processes stopped. Otherwise Close has them go on: it sends SIGCONT to
	// each process that the session has sent a signal that stops.
	Leave bool
	// Guard, unless it is nil, is called before a process can be stopped. A process that holds
	// the map calls [LetGo] when this one was killed.
	Guard func(stopped *ebpf.Map) error
}

// MaxSignals is the largest [Signal.Times].
const MaxSignals = 1024

// LetGo has all processes go on that a session has stopped by [Signal], and stops no others.
// The map is the one that [Signal.Guard] was given.
func LetGo(stopped *ebpf.Map) error { return load.LetGo(stopped) }

// checkSignal returns why the option Signal cannot be used.
func (o *settings) checkSignal() error {
	s := &o.Signal
	switch {
	case s.Number == 0 && (s.Times != 0 || s.Leave || s.Guard != nil):
		return errors.New("it has no Number")
	case s.Number == 0:
		return nil
	case s.Number < 0 || s.Number > maxSignal:
		return fmt.Errorf("%d is no signal", int(s.Number))
	case s.Times < 0 || s.Times > MaxSignals:
		return fmt.Errorf("%d times is not between 1 and %d", s.Times, MaxSignals)
	case len(o.Target.Recordings) > 0:
		return errors.New("what recordings hold has happened: there is no process to send it to")
	case o.Target.Via != ViaAny && o.Target.Via != ViaKernel:
		return errors.New("only the kernel sends it at the probe: through shared memory events are seen too late")
	case o.Where == "" && len(o.Target.PIDs) == 0:
		return errors.New("it would be sent to whichever process fires first: name processes by PIDs, or events by Where")
	}
	return nil
}

// maxSignal is the greatest signal, _NSIG of the kernel.
const maxSignal = 64

// spares returns an error if a process that is named is never sent signals.
func (o *settings) spares() error {
	if o.Signal.Number == 0 {
		return nil
	}
	spared := []int{1}
	for pid := os.Getpid(); pid > 1; pid = procfs.Parent(pid) {
		spared = append(spared, pid)
	}
	for _, pid := range o.Target.PIDs {
		if slices.Contains(spared, pid) {
			return &OptionError{"Signal", fmt.Errorf("process %d is init, this process, or one that this process descends from: it is sent no signals", pid)}
		}
		if user := procfs.User(pid); user >= 0 && user != os.Getuid() && !privilege.Has(unix.CAP_KILL) {
			return &privilege.Error{Op: fmt.Sprintf("send signals to process %d of user %d", pid, user), Missing: []string{"CAP_KILL"}, Err: os.ErrPermission}
		}
	}
	return nil
}

// addSignals prepares that programs send signals.
func (p *programs) addSignals() error {
	s := &p.options.Signal
	if s.Number == 0 {
		return nil
	}
	if privilege.Contained() { // where users have other numbers than programs see
		return &privilege.Error{Op: "send signals", Missing: []string{"CAP_KILL"}, Err: os.ErrPermission}
	}
	user := int64(-1)
	if !privilege.Has(unix.CAP_KILL) {
		user = int64(os.Getuid())
	}
	if err := p.maps.AddSignals(max(1, s.Times), user); err != nil {
		return err
	}
	if s.Guard != nil && query.Signal(s.Number).Stops() && !s.Leave {
		return optionError("Signal", s.Guard(p.maps.Signals.Map))
	}
	return nil
}

// letGo has the processes go on that were stopped, unless they are to stay so.
func (p *programs) letGo() error {
	if p.options.Signal.Leave {
		return nil
	}
	return p.maps.LetGo(query.Signal(p.options.Signal.Number))
}
