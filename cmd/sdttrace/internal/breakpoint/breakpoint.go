// Package breakpoint stops the processes whose events fulfil a condition, or sends them another
// signal, and says how to go on.
package breakpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/command"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/flagvalue"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/gate"
	"github.com/go-usdt/usdt/internal/privilege"
)

// Breakpoint is what is done to the processes of events.
type Breakpoint struct {
	Stop   flagvalue.Stop
	Signal flagvalue.Signal

	guard *gate.Guard // nil if it has not been started
	sent  int
	pids  []int // that were stopped
	going watch // until they go on
}

// Set reports whether anything is to be done.
func (b *Breakpoint) Set() bool { return b.Stop.Times > 0 || b.Signal.Number != 0 }

// Flag returns the flag that asks for it.
func (b *Breakpoint) Flag() string {
	if b.Stop.Times > 0 {
		return "--stop"
	}
	return "--signal"
}

// Check returns what does not go together.
func (b *Breakpoint) Check(named bool) error {
	switch {
	case b.Stop.Times > 0 && b.Signal.Number != 0:
		return errors.New("--stop and --signal exclude each other: --stop is a signal")
	case b.Set() && !named:
		return fmt.Errorf("%s is for whichever process fires first: name processes by -p, or events by --where", b.Flag())
	}
	return nil
}

// Option returns the option of a session that does it.
func (b *Breakpoint) Option() attach.Signal {
	if b.Stop.Times > 0 {
		return attach.Signal{Number: syscall.SIGSTOP, Times: b.Stop.Times, Leave: b.Stop.Leave, Guard: b.startGuard}
	}
	return attach.Signal{Number: b.Signal.Number, Times: b.Signal.Times, Guard: b.startGuard}
}

// startGuard starts a process that has stopped ones go on if sdttrace is killed.
func (b *Breakpoint) startGuard(stopped *ebpf.Map) (err error) {
	b.guard, err = gate.StartReleaser(stopped, command.Guard)
	return err
}

// Warn says which processes are spared, and which of the named ones may end by the signal.
func (b *Breakpoint) Warn(pids []int, stderr io.Writer) {
	if len(pids) == 0 && !privilege.Has(unix.CAP_KILL) {
		fmt.Fprintf(stderr, "sdttrace: %s spares processes of other users, since sdttrace lacks CAP_KILL: their events count as filtered\n", b.Flag())
	}
	if b.Signal.Number == 0 {
		return
	}
	for _, pid := range pids {
		if dispositionOf(pid, b.Signal.Number) == unhandled {
			fmt.Fprintf(stderr, "sdttrace: process %d does not handle %s, and may end by it\n", pid, unix.SignalName(b.Signal.Number))
		}
	}
}

// stopLooks is how often to look whether the threads of a process have stopped, a millisecond apart.
// They cannot while the whole machine stands still.
const stopLooks = 1000

// Sent says what was done to the process of an event, which has been printed, and how to go
// on. It reports whether that was the last time and nothing is to be waited for. After the last
// stop it calls end once all processes go on, unless they are left to the user.
func (b *Breakpoint) Sent(ev *event.Event, stderr io.Writer, end func() error) (last bool) {
	b.sent++
	if b.Stop.Times == 0 {
		name, note := unix.SignalName(b.Signal.Number), ""
		switch dispositionOf(ev.PID, b.Signal.Number) {
		case gone:
			note = ", which has ended"
		case ignored:
			note = ", which ignores it"
		case blocked:
			note = ", whose first thread blocks it"
		case unhandled:
			note = ", which does not handle it"
		}
		fmt.Fprintf(stderr, "sdttrace: sent %s to process %d at this event%s\n", name, ev.PID, note)
		return b.sent == b.Signal.Times
	}
	for looks := 0; looks < stopLooks && !standsStill(ev.PID); looks++ {
		time.Sleep(time.Millisecond)
	}
	if b.sent == b.Stop.Times && !b.Stop.Leave {
		defer func() { b.going.start(slices.Clone(b.pids), end) }()
	}
	if !standsStill(ev.PID) {
		fmt.Fprintf(stderr, "sdttrace: process %d was stopped at this event, and goes on already\n", ev.PID)
		return b.Stop.Leave && b.sent == b.Stop.Times
	}
	b.pids = append(b.pids, ev.PID)
	until := "or when sdttrace ends"
	if b.Stop.Leave {
		until = "not when sdttrace ends"
	}
	fmt.Fprintf(stderr, "sdttrace: process %d stands still at this event: look at it by gdb -p %[1]d; it goes on by kill -CONT %[1]d, %s\n", ev.PID, until)
	return b.Stop.Leave && b.sent == b.Stop.Times
}

// Close ends the guard, after the session has been closed, and says who goes on.
func (b *Breakpoint) Close(quiet bool, stderr io.Writer) error {
	b.going.end()
	if !quiet && !b.Stop.Leave {
		for _, pid := range b.pids {
			fmt.Fprintf(stderr, "sdttrace: process %d goes on\n", pid)
		}
	}
	if b.guard == nil {
		return nil
	}
	return b.guard.Close()
}

// disposition is what a process does with a signal.
type disposition int

const (
	handled disposition = iota
	gone
	ignored
	blocked
	unhandled
)

func dispositionOf(pid int, sig syscall.Signal) disposition {
	thread, _ := living(pid)
	status, err := os.ReadFile(thread + "/status")
	if thread == "" || err != nil {
		return gone
	}
	in := func(set string) bool {
		_, rest, _ := bytes.Cut(status, []byte("\n"+set+":\t"))
		word, _, _ := bytes.Cut(rest, []byte("\n"))
		bits, _ := strconv.ParseUint(string(word), 16, 64)
		return bits>>(sig-1)&1 != 0
	}
	switch {
	case in("SigIgn"):
		return ignored
	case in("SigBlk"):
		return blocked
	case in("SigCgt"):
		return handled
	case sig == unix.SIGCHLD || sig == unix.SIGCONT || sig == unix.SIGURG || sig == unix.SIGWINCH:
		return ignored // by default
	}
	return unhandled
}

// standsStill reports whether a process is stopped, or held by a debugger.
func standsStill(pid int) bool {
	_, state := living(pid)
	return state == 'T' || state == 't'
}

// living returns the first thread of a process that has not ended, and its state; an empty path if there
// is none.
func living(pid int) (dir string, state byte) {
	tasks := fmt.Sprintf("/proc/%d/task", pid)
	threads, _ := os.ReadDir(tasks)
	for _, thread := range threads {
		dir := filepath.Join(tasks, thread.Name())
		stat, _ := os.ReadFile(dir + "/stat")
		_, words, _ := bytes.Cut(stat[max(0, bytes.LastIndexByte(stat, ')')):], []byte(" "))
		if len(words) > 0 && words[0] != 'Z' && words[0] != 'X' {
			return dir, words[0]
		}
	}
	return "", 0
}
