package attach_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/cilium/ebpf/features"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

func init() { roles["contained"] = tracee.Obey(containedChild()) }

// containedChild opens the sessions that its commands name. "open DIR" begins a BPF file system,
// whose descriptor it says, and "mount DIR" mounts it.
func containedChild() func(string) error {
	fs := -1
	return func(command string) (err error) {
		var how, what string
		fmt.Sscan(command, &how, &what)
		opts, events := attach.Options{Target: attach.Target{Via: attach.ViaKernel}}, attach.EventOptions{}
		switch how {
		case "open":
			fs, err = unix.Fsopen("bpf", 0)
			fmt.Println(fs)
			return err
		case "mount":
			mounted, err := unix.Fsmount(fs, 0, 0)
			return errors.Join(err, unix.MoveMount(mounted, "", unix.AT_FDCWD, what, unix.MOVE_MOUNT_F_EMPTY_PATH))
		case "perf":
			opts.Link = attach.PerfLink
		case "signal":
			events.Signal, opts.Where = attach.Signal{Number: syscall.SIGSTOP}, "pid > 0"
		case "others":
			opts.Target.PIDs = []int{os.Getppid()}
		}
		s, err := attach.OpenEvents(context.Background(), []string{what}, &events, &opts)
		var missing *attach.PrivilegeError
		switch {
		case errors.As(err, &missing):
			fmt.Printf("%v %v\n", missing.Missing, err)
			return nil
		case err != nil:
			return err
		}
		fmt.Println(s.Plan().Attached())
		return s.Close()
	}
}

// TestUserNamespace opens sessions with all capabilities of a user namespace, as unshare -Ur
// gives them, without and with a BPF token.
func TestUserNamespace(t *testing.T) {
	needs.Root(t)
	needMulti(t, features.HaveBPFLinkUprobeMulti())
	probe := compile(t, "gcc", "-O2") + ":args:bare"
	contained := func() *tracee.Program {
		cmd := tracee.Self("contained")
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{HostID: 0, Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: 0, Size: 1}},
		}
		return start(t, cmd)
	}
	p := contained()
	const token, without = " without a BPF token for it (Linux 6.9)", "in the initial user namespace: capabilities in one of its own do not count"
	check := func(how, want string, also ...string) {
		t.Helper()
		got := p.Do("%s %s", how, probe)
		p.Line()
		for _, also := range append(also, want) {
			if !strings.Contains(got, also) {
				t.Errorf("%s: got %q, want %q", how, got, also)
			}
		}
	}
	check("auto", "[CAP_BPF CAP_PERFMON] ", without, token)
	check("perf", "[CAP_BPF CAP_PERFMON] ", without, token)
	check("others", "[CAP_SYS_PTRACE] ", without)

	dir := t.TempDir()
	p = contained() // cilium/ebpf looks for tokens once
	var fd int
	fmt.Sscan(p.Do("open"), &fd)
	p.Line()
	if err := delegate(p.PID(), fd); err != nil {
		needs.Skip(t, "this kernel has no BPF tokens: %v", err)
	}
	p.Do("mount %s", dir)
	check("auto", "1")
	check("perf", "[CAP_SYS_ADMIN] ", without)
	check("signal", "[CAP_KILL] ", without)
	if err := p.End(); err != nil {
		t.Error(err)
	}
	if out, err := exec.Command("mountpoint", "-q", dir).CombinedOutput(); err == nil {
		t.Errorf("the file system is mounted outside: %s", out)
	}
}

// delegate makes a process's BPF file system one that gives tokens.
func delegate(pid, fd int) error {
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(process)
	fs, err := unix.PidfdGetfd(process, fd, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fs)
	for _, what := range []string{"delegate_cmds", "delegate_maps", "delegate_progs", "delegate_attachs"} {
		if err := unix.FsconfigSetString(fs, what, "any"); err != nil {
			return err
		}
	}
	return unix.FsconfigCreate(fs)
}
