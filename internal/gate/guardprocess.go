package gate

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
)

// Stand does the work of a [Guard]'s process. It reports errors to the process
// that started it.
func Stand(role string, group int) error {
	// Signals to the group, including stop signals, are meant for others.
	signal.Ignore(unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGPIPE)
	// A user who kills the tracer by its name does not mean its guard. Nor should the kernel kill
	// it for memory: it has little.
	os.WriteFile("/proc/self/comm", []byte("usdt-guard"), 0)
	os.WriteFile("/proc/self/oom_score_adj", []byte("-1000"), 0)
	switch role {
	case anchor:
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	case releaser:
		return release()
	}
	return keep(group)
}

// release does the work of a releaser: it waits as keep does.
func release() error {
	stopped, err := ebpf.NewMapFromFD(mapFD)
	if err != nil {
		return err
	}
	fmt.Println("ok")
	io.Copy(io.Discard, os.Stdin)
	return attach.LetGo(stopped)
}

// keep does the work of the keeper: it waits until its input ends, which its
// creator holds open.
func keep(group int) error {
	creator, err := unix.PidfdOpen(os.Getppid(), 0)
	if err != nil {
		return err
	}
	counters, err := ebpf.NewMapFromFD(mapFD)
	if err != nil {
		return err
	}
	stopped, err := ebpf.NewMapFromFD(stoppedFD)
	if err != nil {
		return err
	}
	if group != 0 {
		anchor, in, err := startAnchor(group)
		if err != nil {
			return err
		}
		defer func() {
			in.Close()
			anchor.Process.Kill()
			anchor.Wait()
		}()
	}
	fmt.Println("ok")
	var pid int
	in := bufio.NewReader(os.Stdin)
	if _, err := fmt.Fscanln(in, &pid); err != nil {
		return nil // there is no process to keep
	}
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	fmt.Println("ok")
	rest, _ := io.ReadAll(in)
	err = letGo(counters, stopped, process)
	if string(rest) != closing {
		// The thread that started the process may be slower to end than the descriptors. The group
		// must not be orphaned before the kernel has let the process go on.
		unix.Poll([]unix.PollFd{{Fd: int32(creator), Events: unix.POLLIN}}, int(endTime/time.Millisecond))
	}
	return err
}

// endTime is more than it takes a process to end whose descriptors are closed.
const endTime = 10 * time.Second

func startAnchor(group int) (*exec.Cmd, io.Closer, error) {
	arguments := os.Args[1 : len(os.Args)-2]
	cmd := again(append(arguments[:len(arguments):len(arguments)], anchor, strconv.Itoa(group))...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: group}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	return cmd, in, cmd.Start()
}

// graceTime is longer than a program on a probe runs.
const graceTime = 100 * time.Millisecond

// letGo lets the process go on if the gate has stopped it and nobody else would
// do so, and its descendants.
func letGo(counters, stopped *ebpf.Map, process int) error {
	var s state
	if err := counters.Lookup(uint32(entryState), &s); err != nil {
		return err
	}
	s.Left = 1
	if err := counters.Put(uint32(entryState), &s); err != nil {
		return err
	}
	if err := continueAll(stopped); err != nil {
		return err
	}
	c, err := countsIn(counters)
	if err != nil || c.Only == s.Only || c.Also != s.Also {
		return err
	}
	return unix.PidfdSendSignal(process, unix.SIGCONT, nil, 0)
}

// settle waits until programs have ended that have begun before, which may still stop a process.
// The kernel does so, unless it has CPUs that it does not disturb.
func settle() {
	const membarrierGlobal = 1 // MEMBARRIER_CMD_GLOBAL, include/uapi/linux/membarrier.h
	if _, _, errno := unix.Syscall(unix.SYS_MEMBARRIER, membarrierGlobal, 0, 0); errno != 0 {
		time.Sleep(graceTime)
	}
}
