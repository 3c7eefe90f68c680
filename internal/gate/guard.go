package gate

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/privilege"
)

// A Guard outlives this process, if that is killed, and does two things that the
// kernel does not.
//
// It lets a process go on that a gate has stopped and the kernel would not: the
// kernel forgets PR_SET_PDEATHSIG when a program gets other rights, or is
// executed by another thread than the first.
//
// And it keeps this process's group from being orphaned. The kernel sends SIGHUP
// to an orphaned group with a stopped member (kernel/exit.c, kill_orphaned_pgrp).
// A stopped child gets it before its SIGCONT if the thread that started the child
// is slower to end than the others. A group is not orphaned as long as a member's
// parent is in another group of the session. So the guard is two processes: the
// keeper, in a group of its own, and its child, the anchor, in this process's
// group.
type Guard struct {
	keeper   *exec.Cmd
	in       *os.File // to the keeper; its end is what the keeper waits for
	out      *bufio.Reader
	outFile  *os.File
	counters *ebpf.Map
	stopped  *ebpf.Map // the processes of a [Family] that have been stopped; nil for a releaser

	gone chan struct{} // closed when the keeper has ended; nil if nobody asks

	mu    sync.Mutex // of state
	state state
}

// Roles of processes that Stand runs in.
const (
	keeper   = "keeper"
	anchor   = "anchor"
	releaser = "releaser"
)

// Descriptors of a guard's process for the maps that it holds.
const (
	mapFD     = 3
	stoppedFD = 4
)

// maxStopped is how many processes of a family may have been stopped; others are not.
const maxStopped = 1 << 13

// StartGuard starts a guard, and does not wait for it: this program, with the
// arguments and some more, which it must pass to [Stand].
func StartGuard(arguments ...string) (*Guard, error) {
	counters, err := newCounters()
	if err != nil {
		return nil, err
	}
	stopped, err := ebpf.NewMap(&ebpf.MapSpec{Name: "gate_stopped", Type: ebpf.Hash, KeySize: 4, ValueSize: 4, MaxEntries: maxStopped})
	if err != nil {
		counters.Close()
		return nil, fmt.Errorf("create a table of stopped processes: %w", err)
	}
	g, err := start(append(arguments, keeper, strconv.Itoa(threatened())), counters, stopped)
	if err != nil {
		counters.Close()
		stopped.Close()
		return nil, err
	}
	g.stopped = stopped
	return g, nil
}

// StartReleaser starts a guard that has the processes go on which a session has stopped by
// [attach.Signal], with the map that the session gives its Guard, when this process has ended.
// It takes the arguments of StartGuard.
func StartReleaser(stopped *ebpf.Map, arguments ...string) (*Guard, error) {
	held, err := stopped.Clone()
	if err != nil {
		return nil, err
	}
	g, err := start(append(arguments, releaser, "0"), held)
	if err == nil {
		err = g.answer()
	}
	if err != nil {
		held.Close()
		return nil, fmt.Errorf("start a guard: %w", err)
	}
	return g, nil
}

// start starts a guard's process that holds maps.
func start(arguments []string, held ...*ebpf.Map) (*Guard, error) {
	g := &Guard{counters: held[0], keeper: again(arguments...)}
	g.keeper.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	for _, m := range held {
		shared, err := unix.FcntlInt(uintptr(m.FD()), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return nil, err
		}
		file := os.NewFile(uintptr(shared), "map")
		defer file.Close()
		g.keeper.ExtraFiles = append(g.keeper.ExtraFiles, file)
	}
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirIn.Close()
	out, theirOut, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, err
	}
	defer theirOut.Close()
	g.in, g.outFile, g.out = in, out, bufio.NewReader(out)
	g.keeper.Stdin, g.keeper.Stdout = theirIn, theirOut
	if err := g.keeper.Start(); err != nil {
		in.Close()
		out.Close()
		return nil, fmt.Errorf("start a guard: %w", err)
	}
	return g, nil
}

// threatened returns this process's group if the end of this process would orphan
// it, 0 otherwise.
func threatened() int {
	parent, group := os.Getppid(), unix.Getpgrp()
	theirs, err := unix.Getpgid(parent)
	if err != nil || theirs == group {
		return 0
	}
	session, err := unix.Getsid(0)
	if err != nil {
		return 0
	}
	if of, err := unix.Getsid(parent); err != nil || of != session {
		return 0
	}
	return group
}

// again returns a command that runs this program under a name of its own.
func again(arguments ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", arguments...)
	cmd.Args[0] = os.Args[0]
	return cmd
}

// answer waits until the keeper has done what it was told.
func (g *Guard) answer() error {
	line, err := g.out.ReadString('\n')
	if err == nil && line != "ok\n" {
		err = errors.New(strings.TrimSpace(line))
	}
	return err
}

// Keep makes the guard watch a process, a stopped child of this one. With
// CAP_KILL the guard lets the process go on whatever rights it gets.
func (g *Guard) Keep(pid int) error {
	if _, err := fmt.Fprintln(g.in, pid); err != nil {
		return err
	}
	for range 2 { // the keeper has begun, and it knows the process
		if err := g.answer(); err != nil {
			return fmt.Errorf("start a guard: %w", err)
		}
	}
	if !privilege.Has(unix.CAP_KILL) {
		return nil
	}
	g.mu.Lock()
	g.state.Guarded = 1
	err := g.store()
	g.mu.Unlock()
	g.gone = make(chan struct{})
	go func() {
		io.Copy(io.Discard, g.out) // until the keeper ends
		g.mu.Lock()
		defer g.mu.Unlock()
		g.state.Guarded = 0
		g.store()
		close(g.gone)
	}()
	return err
}

func (g *Guard) store() error { return g.counters.Put(uint32(entryState), &g.state) }

func (g *Guard) continued(c Counts) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.state.Only, g.state.Also = c.Only, c.Also
	return g.store()
}

// closing is what a guard's process reads last if its creator does not end.
const closing = "\n\n"

// Close ends the guard.
func (g *Guard) Close() error {
	io.WriteString(g.in, closing) // if the keeper has ended, Wait says how
	g.in.Close()
	err := g.keeper.Wait()
	if g.gone != nil {
		<-g.gone
	}
	g.outFile.Close()
	if g.stopped != nil {
		err = errors.Join(err, g.stopped.Close())
	}
	return errors.Join(err, g.counters.Close())
}
