// Package interrupt ends what sdttrace does when a signal asks for it, and dies of the signal
// where there is nothing to clean up.
package interrupt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// SameInstant is the time in which several signals are one: timeout(1) and
// others send one to a process and then to its group.
const SameInstant = time.Second

// Command is a program that takes signals in place of sdttrace.
type Command interface {
	Running() bool
	Signal(syscall.Signal)
	Path() string
}

// Interrupts ends what sdttrace does when a signal asks for it: by its context,
// so that results are printed, or, while a command is traced, by the command.
type Interrupts struct {
	signals chan os.Signal
	cancel  context.CancelCauseFunc
	First   chan struct{} // is closed at the first signal
	request atomic.Pointer[request]

	mu      sync.Mutex // of what follows
	last    os.Signal
	at      time.Time // of last
	ending  time.Time // when the context was cancelled
	command Command   // takes signals while it runs; nil if there is none
	asked   escalation
	stderr  io.Writer // for messages to the user; nil for none
	// preparing is where to say that nothing is attached yet; nil if something may be.
	preparing io.Writer
	heldUp    string // what the kernel does not end meanwhile
}

// HeldUp says that the kernel takes long for something, and on stderr that it does.
func (in *Interrupts) HeldUp(what string, stderr io.Writer) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.heldUp = what
	fmt.Fprintf(stderr, "sdttrace: the kernel holds up %s: another tracer, or a program of the kernel, may keep it; Ctrl-C ends sdttrace\n", what)
}

// unprepared is how long sdttrace may take to end while nothing is attached. If it has worked for
// less than half of that, what it waits for does not answer, such as the file system of a path that the user names.
const unprepared = 3 * time.Second

// patience is how many times unprepared passes, at most, while it still works.
const patience = 20

// Prepare says that nothing is attached until the function that it returns is called, so that
// there is nothing to clean up when a signal comes.
func (in *Interrupts) Prepare(stderr io.Writer) (done func()) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.preparing = stderr
	return func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		in.preparing = nil
	}
}

// watch gives up once nothing has moved for a while, and looks again if something has.
func (in *Interrupts) watch(sig syscall.Signal, patience int) {
	before := busy()
	time.AfterFunc(unprepared, func() {
		if patience > 0 && busy()-before > unprepared/2 {
			in.watch(sig, patience-1)
			return
		}
		in.giveUp(sig)
	})
}

// giveUp ends this process by a signal if it is still preparing.
func (in *Interrupts) giveUp(sig syscall.Signal) {
	in.mu.Lock()
	stderr, what := in.preparing, in.heldUp
	in.mu.Unlock()
	if stderr != nil && what != "" {
		fmt.Fprintf(stderr, "sdttrace: the kernel still holds up %s: sdttrace ends, and the kernel undoes what was begun when it can\n", what)
		DieOf(sig)
	}
	if stderr != nil {
		fmt.Fprintln(stderr, "sdttrace: what it looks at, such as a file system, does not answer: it ends without having traced")
		DieOf(sig)
	}
}

// escalation is how firmly a command has been asked to end.
type escalation int

const (
	notAsked   escalation = iota
	interrupt             // by SIGINT, of the terminal or of sdttrace
	terminated            // by SIGTERM or SIGHUP
	killed
)

type interruptsKey struct{}

// With returns a context that signals end. A later signal, if sdttrace
// has not ended by then, has its default action.
func With(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	in := &Interrupts{signals: make(chan os.Signal, 8), cancel: cancel, First: make(chan struct{})}
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup(1) has it
		signals = append(signals, syscall.SIGHUP)
	}
	signal.Notify(in.signals, signals...)
	go func() {
		for sig := range in.signals {
			in.take(sig, time.Now())
		}
	}()
	return context.WithValue(ctx, interruptsKey{}, in)
}

// Cause is the cause of a context that a signal has ended, and the error of a command that had
// nothing to show by then.
type Cause struct{ By syscall.Signal }

func (i *Cause) Error() string {
	if i.By == syscall.SIGINT {
		return "interrupted"
	}
	return "interrupted by " + unix.SignalName(i.By)
}

// ErrorOf returns the error of a command that could not do its work: that a
// signal has ended ctx, if one has, since err then only says what came of it, and
// err otherwise.
func ErrorOf(ctx context.Context, err error) error {
	if by := (*Cause)(nil); err != nil && errors.As(context.Cause(ctx), &by) {
		return by
	}
	return err
}

// DieOf ends this process by a signal, so that a shell stops the script or loop
// that has started it. It returns if the signal does not end this process: it is
// none by which users end programs, is ignored, or this is the first process of a container.
func DieOf(sig syscall.Signal) {
	if sig != syscall.SIGINT && sig != syscall.SIGTERM && sig != syscall.SIGHUP {
		return
	}
	signal.Reset(sig)
	if ignored(sig) || os.Getpid() == 1 {
		return
	}
	if syscall.Kill(os.Getpid(), sig) == nil {
		select {} // the runtime takes the signal in another thread
	}
}

// ignored reports whether the kernel ignores a signal, as it does for what a shell without job control starts
// with &. Package signal no longer knows that once the signal has been asked for.
func ignored(sig syscall.Signal) bool {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return signal.Ignored(sig)
	}
	_, mask, _ := strings.Cut(string(status), "\nSigIgn:\t")
	mask, _, _ = strings.Cut(mask, "\n")
	bits, err := strconv.ParseUint(mask, 16, 64)
	return err == nil && bits>>(sig-1)&1 != 0
}

// Of returns the interrupts of ctx; without any, it returns ones that
// end nothing.
func Of(ctx context.Context) *Interrupts {
	if in, ok := ctx.Value(interruptsKey{}).(*Interrupts); ok {
		return in
	}
	return &Interrupts{First: make(chan struct{})}
}

// HandOver leaves signals to a command until it has ended. Messages go to stderr,
// which may be nil.
func (in *Interrupts) HandOver(c Command, stderr io.Writer) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.command, in.stderr = c, stderr
	if in.signals != nil {
		// A user sends SIGQUIT to the command, such as to a JVM for its threads.
		// sdttrace, a Go program, would by default print its goroutines and end.
		signal.Notify(in.signals, syscall.SIGQUIT)
	}
}

// AskedToEnd says that sdttrace itself has asked the command to end.
func (in *Interrupts) AskedToEnd() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.asked = max(in.asked, terminated)
}

// request is what a signal asked for.
type request struct {
	at time.Time
	of Command // that has the signal; nil if sdttrace is to end itself
}

// Asked returns when a signal asked sdttrace to end; zero before, and while the command runs for which
// the signal is meant. It waits for nothing, so that messages about signals can be written meanwhile.
func (in *Interrupts) Asked() time.Time {
	r := in.request.Load()
	if r == nil || r.of != nil && r.of.Running() {
		return time.Time{}
	}
	return r.at
}

// take acts on a signal.
func (in *Interrupts) take(sig os.Signal, now time.Time) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if sig == in.last && now.Sub(in.at) < SameInstant {
		return
	}
	in.last, in.at = sig, now
	switch {
	case in.command != nil && in.command.Running():
		if sig != syscall.SIGQUIT {
			in.request.Store(&request{now, in.command})
		}
		in.escalate(sig)
	case in.ending.IsZero():
		in.ending = now
		in.request.Store(&request{at: now})
		in.cancel(&Cause{sig.(syscall.Signal)})
		if in.preparing != nil {
			in.watch(sig.(syscall.Signal), patience)
		}
	case now.Sub(in.ending) >= SameInstant:
		DieOf(sig.(syscall.Signal))
	}
	select {
	case <-in.First:
	default:
		close(in.First)
	}
}

// escalate asks the command to end, each time more firmly. A terminal interrupts
// its whole foreground process group, the command included, so that the command
// needs no second interrupt.
func (in *Interrupts) escalate(sig os.Signal) {
	c := in.command
	switch {
	case sig == syscall.SIGQUIT:
		if !inForeground() {
			c.Signal(syscall.SIGQUIT)
		}
	case sig == syscall.SIGINT && in.asked == notAsked:
		in.asked = interrupt
		if inForeground() {
			c.Signal(syscall.SIGCONT) // it may stand still at a probe
		} else {
			c.Signal(syscall.SIGINT)
		}
		in.say("interrupted; tracing %s until it ends, Ctrl-C again terminates it", c.Path())
	case in.asked < terminated:
		in.asked = terminated
		if sig == syscall.SIGINT {
			sig = syscall.SIGTERM
		}
		c.Signal(sig.(syscall.Signal))
		in.say("%s is asked to end by %s; the next signal kills it", c.Path(), unix.SignalName(sig.(syscall.Signal)))
	default:
		in.asked = killed
		c.Signal(syscall.SIGKILL)
	}
}

func (in *Interrupts) say(format string, args ...any) {
	if in.stderr != nil {
		fmt.Fprintf(in.stderr, "sdttrace: "+format+"\n", args...)
	}
}

// inForeground reports whether this process is in the group to which its terminal
// sends signals.
func inForeground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false // there is no terminal
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
