package command

import (
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/interrupt"
	"github.com/go-usdt/usdt/internal/gate"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/program"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// Command is a program that sdttrace has started.
type Command struct {
	cmd   *exec.Cmd
	ended chan struct{}
	err   error // of its end, once ended is closed
	hold  *hold
	await func() // begins to wait for the end of one that offers its probes; nil of others
	how   How
}

// How is how a program is started.
type How struct {
	User         bool // its probes are traced without the kernel
	InBackground bool // the terminal is in use: the program reads nothing
	// Early says that functions or tracepoints of the kernel are traced: it is stopped before its first
	// instruction, which is its dynamic linker's.
	Early bool
	// Bare says that nothing else is traced, so that nothing of the program has to be mapped.
	Bare bool
}

// endGrace is how long a command has to end after SIGTERM.
const endGrace = 5 * time.Second

// startTraced starts a program and stops it before its own code and the constructors of
// the libraries that it is linked with, which are mapped and relocated then; or see [How]. Its
// output goes to stderr.
func startTraced(args []string, how How, stderr io.Writer) (*Command, error) {
	c := &Command{cmd: exec.Command(args[0], args[1:]...), ended: make(chan struct{}), how: how}
	c.useFiles(how.InBackground, stderr)
	c.hold = newHold(c)
	c.cmd.Env = c.hold.environment()
	started := make(chan error)
	go func() {
		// Only the thread that started a traced process may let it go on. When
		// that thread ends, with this process or before, the kernel lets the
		// command go on, so that it never stands still forever.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.startStopped()
		started <- err
		if err == nil {
			c.err = c.cmd.Wait()
			close(c.ended)
		}
	}()
	if err := <-started; err != nil {
		c.hold.close()
		return nil, fmt.Errorf("start %s: %w", args[0], err)
	}
	if !how.Early || how.Bare {
		c.hold.start()
	} // otherwise Load does
	return c, nil
}

// useFiles sets the program's input and output.
func (c *Command) useFiles(inBackground bool, stderr io.Writer) {
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = os.Stdin, stderr, stderr
	if inBackground {
		c.cmd.Stdin = nil
		c.cmd.WaitDelay = endGrace // for children that keep its output
	}
}

func (c *Command) startStopped() error {
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Pdeathsig: syscall.SIGCONT}
	if err := startUnblocked(c.cmd); err != nil {
		return err
	}
	c.hold.keep()
	err := c.stopAtStart()
	if err != nil {
		c.cmd.Process.Kill()
		c.cmd.Wait()
	}
	return err
}

// startUnblocked starts a program without the blocked signals that this process
// was started with. The caller has locked its thread. (Ignored signals need
// nothing: the runtime gives children the default in place of its own handlers.)
func startUnblocked(cmd *exec.Cmd) error {
	var none, old unix.Sigset_t
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &none, &old); err != nil {
		return err
	}
	defer unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil)
	return cmd.Start()
}

// stopAtStart lets the process, which stands still behind its exec, go on until its
// libraries are ready, or to its entry point if it has no dynamic linker: an attached
// program stops it there by a signal. With How.Early it stays where it is.
func (c *Command) stopAtStart() error {
	pid := c.PID()
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil {
		return fmt.Errorf("wait for its exec: %w", err)
	}
	if !status.Stopped() {
		return errors.New("it ended before its exec")
	}
	if c.how.Early {
		// It takes the signal when it is let go on, before it returns from exec.
		if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
			return fmt.Errorf("stop it: %w", err)
		}
		if err := syscall.PtraceDetach(pid); err != nil {
			return fmt.Errorf("continue it: %w", err)
		}
		return c.awaitStop()
	}
	return c.awaitLibraries(func() error { return syscall.PtraceDetach(pid) })
}

// awaitLibraries lets the process go on until its libraries are ready, or to its entry point.
func (c *Command) awaitLibraries(resume func() error) error {
	pid := c.PID()
	startup, err := gate.StartupOf(pid)
	c.hold.passed = err
	stopper, err := attachStopper(pid, startup.Ready)
	if errors.Is(err, os.ErrPermission) {
		return cmp.Or(lack(), err)
	}
	if err != nil {
		return err
	}
	defer stopper.Close()
	if err := resume(); err != nil {
		return fmt.Errorf("continue it: %w", err)
	}
	if err := c.awaitStop(); err != nil || !startup.Loading() {
		return err
	}
	if err := c.resumeStopped(); err != nil {
		return err
	}
	return c.awaitStop()
}

// resumeStopped consumes a stop, or the next wait would report it again, and lets the process go on.
func (c *Command) resumeStopped() error {
	if err := unix.Waitid(unix.P_PID, c.PID(), nil, unix.WSTOPPED|unix.WNOHANG, nil); err != nil {
		return fmt.Errorf("wait for its stop: %w", err)
	}
	return c.resume()
}

// Load has a program with How.Early, of which the kernel's events are traced already, load what it is
// linked with, and s attach to its own probes before they can fire. Other programs have done that.
func (c *Command) Load(s Searcher) error {
	if !c.how.Early || c.how.Bare {
		return nil
	}
	if err := c.awaitLibraries(c.resumeStopped); err != nil {
		return fmt.Errorf("start %s: %w", c.cmd.Args[0], err)
	}
	c.hold.start()
	return s.RescanHeld()
}

// awaitStop waits until the process stands still or has ended, and leaves both to be
// waited for again.
func (c *Command) awaitStop() error {
	for {
		err := unix.Waitid(unix.P_PID, c.PID(), nil, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err
		}
	}
}

// lack returns an error that names the privileges which this process lacks for
// tracing, nil if it has them.
func lack() error {
	s, err := attach.Open(context.Background(), []string{"/proc/self/exe:no:probe"}, &attach.Options{Target: attach.Target{Via: attach.ViaKernel}, Await: true, Rescan: time.Hour})
	if err == nil {
		return s.Close()
	}
	if p := (*attach.PrivilegeError)(nil); errors.As(err, &p) {
		return p
	}
	return nil
}

// attachStopper attaches a program that stops process pid at its entry point and at
// ready, which may be nil.
func attachStopper(pid int, ready *reader.Probe) (*attach.Attachment, error) {
	entry, err := entryPoint(pid)
	if err != nil {
		return nil, fmt.Errorf("find its entry point: %w", err)
	}
	probes := []reader.Probe{*entry}
	if ready != nil {
		probes = append(probes, *ready)
	}
	return program.Attach(asm.Instructions{
		asm.Mov.Imm(asm.R1, int32(unix.SIGSTOP)),
		asm.FnSendSignal.Call(),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
	}, probes, &attach.ProgramOptions{Target: attach.Target{PIDs: []int{pid}}})
}

// entryPoint returns the place where a process's own code begins, as a probe.
func entryPoint(pid int) (*reader.Probe, error) {
	path := fmt.Sprintf("/proc/%d/exe", pid)
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	auxv, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid))
	if err != nil {
		return nil, err
	}
	word := 8
	if f.Class == elf.ELFCLASS32 {
		word = 4
	}
	maps, err := procfs.Maps(pid)
	if err != nil {
		return nil, err
	}
	addr := procfs.Auxiliary(auxv, word, procfs.EntryPoint)
	for _, m := range maps {
		if m.Start <= addr && addr < m.End {
			return &reader.Probe{
				Note: notes.Note{Provider: "entry", Name: "point"},
				Path: path, Machine: f.Machine, Class: f.Class, Offset: addr - m.Start + m.Offset,
			}, nil
		}
	}
	return nil, errors.New("no file is mapped where the kernel started it")
}

// PID returns the number of its process.
func (c *Command) PID() int { return c.cmd.Process.Pid }

// Path returns the program's path.
func (c *Command) Path() string { return c.cmd.Path }

// Running reports whether the program has not ended.
func (c *Command) Running() bool {
	select {
	case <-c.ended:
		return false
	default:
		return true
	}
}

// endTime is how long a program that has ended may take to be waited for.
const endTime = time.Second

// Spent returns the CPU time that the program took, with the children that it has waited for; 0 if it
// has not ended.
func (c *Command) Spent() time.Duration {
	var info unix.Siginfo
	if err := unix.Waitid(unix.P_PID, c.PID(), &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); err == nil && info.Signo == 0 {
		return 0
	}
	select {
	case <-c.ended:
		return c.cmd.ProcessState.UserTime() + c.cmd.ProcessState.SystemTime()
	case <-time.After(endTime):
		return 0
	}
}

// Signal sends the program a signal, and lets it go on if it stands still.
func (c *Command) Signal(sig syscall.Signal) {
	// A program that has ended meanwhile needs no signal.
	c.cmd.Process.Signal(sig)
	c.cmd.Process.Signal(syscall.SIGCONT)
}

// interruptSteps and interruptStep are how long a signal that has ended the program may take to reach
// this one. A step counts once if this process stands still meanwhile, however long.
const (
	interruptSteps = 10
	interruptStep  = 50 * time.Millisecond
)

// interrupted reports whether the program has ended because the user wanted it
// to: a signal is often sent to this process and to the program.
func (c *Command) interrupted(ctx context.Context) bool {
	in := interrupt.Of(ctx)
	var exit *exec.ExitError
	if errors.As(c.err, &exit) {
		status, ok := exit.Sys().(syscall.WaitStatus)
		if ok && status.Signaled() && (status.Signal() == syscall.SIGINT || status.Signal() == syscall.SIGTERM || status.Signal() == syscall.SIGHUP) {
			for range interruptSteps {
				select {
				case <-in.First:
					return true
				case <-ctx.Done():
					return true
				case <-time.After(interruptStep):
				}
			}
		}
	}
	select {
	case <-in.First:
		return true
	default:
		return ctx.Err() != nil
	}
}

// resume lets the program run.
func (c *Command) resume() error {
	if c.await != nil {
		c.await()
		return nil
	}
	if err := c.cmd.Process.Signal(syscall.SIGCONT); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("let %s run: %w", c.Path(), err)
	}
	return nil
}

// Finish ends the program if it has not ended by itself. The error says how the
// program failed, unless the user has ended it.
func (c *Command) Finish(ctx context.Context) error {
	c.hold.close()
	if c.await != nil {
		c.await()
	}
	if !c.Running() {
		if c.err == nil || c.interrupted(ctx) {
			return nil
		}
		return &Failure{c.Path(), c.err}
	}
	interrupt.Of(ctx).AskedToEnd()
	c.Signal(syscall.SIGTERM)
	select {
	case <-c.ended:
	case <-time.After(endGrace):
		c.cmd.Process.Kill()
		<-c.ended
	}
	return nil // sdttrace ended it
}
