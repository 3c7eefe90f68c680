package rendezvous_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/rendezvous"
	"github.com/go-usdt/usdt/internal/ring"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// namespaces are the namespaces of containers, except the user namespace.
const namespaces = syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS

// containing is the role of a process that runs another role in a container which its
// user makes: root is that user there. It says its number first.
func containing(args []string) error {
	cmd := tracee.Self(args[0], args[1:]...)
	cmd.Stdin, cmd.Stderr = os.Stdin, os.Stderr
	out, err := cmd.StdoutPipe() // what it says comes behind the number
	if err != nil {
		return err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  namespaces | syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("no namespaces here: %w", err)
	}
	fmt.Println(cmd.Process.Pid)
	_, err = io.Copy(os.Stdout, out)
	return errors.Join(err, cmd.Wait())
}

// hiding is the role of a process that mounts /proc and a directory for temporary files
// for itself, and becomes a user and another role, which its arguments name.
func hiding(args []string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := errors.Join(unix.Mount("none", os.TempDir(), "tmpfs", 0, "mode=1777"), unix.Mount("none", "/proc", "proc", 0, "")); err != nil {
		return err
	}
	user, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(user), syscall.Setuid(user)); err != nil {
		return err
	}
	cmd := tracee.Self(args[1], args[2:]...)
	return syscall.Exec("/proc/self/exe", cmd.Args, cmd.Env)
}

// pairing is the role of a process that offers a probe, and starts a tracer that says
// how watching it goes.
func pairing([]string) error {
	l, err := rendezvous.Listen(&service{sites: map[*ring.Writer][]rendezvous.Site{}}, "service", []string{os.TempDir()})
	if err != nil {
		return err
	}
	tracer := tracee.Self("tracer", strconv.Itoa(os.Getpid()))
	tracer.Stdin, tracer.Stdout, tracer.Stderr = os.Stdin, os.Stdout, os.Stderr
	return errors.Join(tracer.Run(), l.Close())
}

// contain starts a role in a container that a user makes, and returns it with its number.
func contain(t *testing.T, user uint32, role string, args ...string) (p *tracee.Program, pid int) {
	t.Helper()
	p = start(t, user, "contain", append([]string{role}, args...)...)
	line, err := p.Next()
	if err == nil {
		pid, err = strconv.Atoi(line)
	}
	if err != nil {
		needs.Skip(t, "no namespaces here: %v", p.End())
	}
	return p, pid
}

// TestContainers checks who may watch processes in containers, in which they have other
// users, processes, files and networks than their tracers.
func TestContainers(t *testing.T) {
	needs.Root(t)
	const alice, bob, nobody = 54321, 54322, 65534
	hidden := func(user uint32, role string) *tracee.Program { // as root's containers are
		cmd := tracee.Self("hide", fmt.Sprint(user), role)
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces}
		return tracee.Start(t, cmd)
	}
	rooted := func(user uint32) int { return hidden(user, "service").Ready().PID() }
	rootless := func(user uint32) int {
		p, pid := contain(t, user, "service")
		p.Ready()
		return pid
	}
	services := []struct {
		name string
		pid  int
		user uint32
	}{
		{"root's, of root", rooted(0), 0}, {"root's, of alice", rooted(alice), alice}, {"root's, of nobody", rooted(nobody), nobody},
		{"alice's", rootless(alice), alice}, {"nobody's", rootless(nobody), nobody},
	}
	var pids []string
	for _, s := range services {
		pids = append(pids, strconv.Itoa(s.pid))
	}
	for _, user := range []uint32{0, alice, bob, nobody} {
		tracer := start(t, user, "tracer", pids...)
		for _, s := range services {
			want := "not permitted"
			if user == 0 || user == s.user {
				want = "watching"
			}
			if got := tracer.Line(); got != want {
				t.Errorf("user %d, process in a container that is %s: %s, want %s", user, s.name, got, want)
			}
		}
	}
	// A tracer in an inner user namespace has no rights in the outer one.
	outer := start(t, alice, "service").Ready()
	inner, _ := contain(t, alice, "tracer", strconv.Itoa(outer.PID()))
	if got := inner.Line(); got != "not permitted" {
		t.Errorf("a tracer in an inner user namespace: %s, want not permitted", got)
	}
	// A socket that has no file belongs to the network namespace.
	abstract := start(t, alice, "service", "nowhere").Ready()
	cmd := tracee.Self("tracer", strconv.Itoa(abstract.PID()))
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Credential: &syscall.Credential{Uid: alice, Gid: alice}}
	if got := tracee.Start(t, cmd).Line(); !strings.HasSuffix(got, "in another network namespace: it found no directory for the socket's file, such as /dev/shm, that it may write to") {
		t.Errorf("a tracer in another network namespace: %s", got)
	}
	if got := hidden(alice, "pair").Line(); got != "watching" {
		t.Errorf("both in one container: %s, want watching", got)
	}
}
