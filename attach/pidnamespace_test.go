package attach_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestNestedPIDNamespace traces processes in a nested PID namespace, and checks
// that processes outside have no PID there.
func TestNestedPIDNamespace(t *testing.T) {
	if !ownNamespace(t) {
		return
	}
	cmd := tracee.Self("versions")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID}
	p := start(t, cmd)
	p.Do("load old")
	if !attach.TellsNestedPIDs() {
		needs.Skip(t, "this kernel does not tell PIDs of nested namespaces")
	}
	o := attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Where: fmt.Sprintf("pid == %d && tid < 1000", p.PID())}
	s := open(t, "versions:*", &o)
	a := openAggregate(t, []string{"versions:*"}, attach.Count().By("pid"), &o)
	p.Do("fire")
	events := drain(t, s)
	if len(events) != 2 || events[0].PID != p.PID() || events[0].TID < p.PID() || events[0].TID > p.PID()+100 {
		t.Errorf("events %+v, want two of process %d", events, p.PID())
	}
	groups, err := a.Read()
	if pid := uint64(p.PID()); err != nil || len(groups) != 1 || groups[0].By[0].Value != pid || groups[0].Count != 2 {
		t.Errorf("groups %+v (error %v), want one of process %d", groups, err, pid)
	}
}

// TestOutsidePIDNamespace traces a process outside the tracer's PID namespace, which
// has no PID there.
func TestOutsidePIDNamespace(t *testing.T) {
	const programPath = "ATTACH_TEST_PROGRAM"
	if path := os.Getenv(programPath); path != "" {
		if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
			t.Fatal(err)
		}
		s := open(t, path+":args:bare", nil)
		a := openAggregate(t, []string{path + ":args:bare"}, attach.Count().By("pid"), nil)
		fmt.Println()
		os.Stdin.Read(make([]byte, 1))
		events := drain(t, s)
		if len(events) != 1 || events[0].PID != 0 || events[0].TID != 0 || !strings.Contains(string(events[0].AppendJSON(nil)), `"pid":null,"tid":null`) {
			t.Errorf("events %+v, want one of a process without a PID", events)
		}
		groups, err := a.Read()
		if err != nil || len(groups) != 1 || groups[0].By[0].Value != nil || groups[0].By[0].Err == nil {
			t.Errorf("groups %+v (error %v), want one of processes without a PID", groups, err)
		}
		return
	}
	needs.Root(t)
	path := compile(t, "gcc", "-O2")
	traced := start(t, exec.Command(path))
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), programPath+"="+path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS, Unshareflags: unix.CLONE_NEWNS}
	tracer := start(t, cmd)
	if line := tracer.Line(); line != "" { // it has attached
		t.Fatalf("the tracer says %q (%v)", line, tracer.End())
	}
	traced.Do("")
	tracer.Send("")
	rest := tracer.Rest()
	if err := tracer.End(); err != nil {
		t.Errorf("%v\n%s", err, rest)
	}
}

// TestPIDNamespace checks that options, conditions, events and groups in a PID
// namespace mean the same PIDs.
func TestPIDNamespace(t *testing.T) {
	if !ownNamespace(t) {
		return
	}
	p := startChild(t, "versions")
	p.Do("load old")
	o := attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Where: fmt.Sprintf("pid == %d && tid < 1000", p.PID())}
	s := open(t, "versions:*", &o)
	a := openAggregate(t, []string{"versions:*"}, attach.Max("pid").By("pid"), &o)
	p.Do("fire")
	events := drain(t, s)
	if len(events) != 2 || events[0].PID != p.PID() || events[0].TID < p.PID() || events[0].TID > p.PID()+100 {
		t.Errorf("events %+v, want two of process %d", events, p.PID())
	}
	groups, err := a.Read()
	pid := uint64(p.PID())
	if err != nil || len(groups) != 1 || groups[0].By[0].Value != pid || groups[0].Max != pid || groups[0].Count != 2 {
		t.Errorf("groups %+v (error %v), want one of process %d", groups, err, pid)
	}
}
