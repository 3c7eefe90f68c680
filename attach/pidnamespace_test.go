package attach_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestNestedPIDNamespace holds the same of processes in a PID namespace within, and
// that those outside have no PID.
func TestNestedPIDNamespace(t *testing.T) {
	if !ownNamespace(t) {
		return
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), child+"=versions")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID}
	p := start(t, cmd)
	p.do("load old")
	if !attach.TellsNestedPIDs() {
		needs.Skip(t, "this kernel does not tell PIDs of nested namespaces")
	}
	o := attach.Options{Target: attach.Target{PIDs: []int{p.pid()}}, Where: fmt.Sprintf("pid == %d && tid < 1000", p.pid())}
	s := open(t, "versions:*", &o)
	a := openAggregate(t, []string{"versions:*"}, attach.Count().By("pid"), &o)
	p.do("fire")
	events := drain(t, s)
	if len(events) != 2 || events[0].PID != p.pid() || events[0].TID < p.pid() || events[0].TID > p.pid()+100 {
		t.Errorf("events %+v, want two of process %d", events, p.pid())
	}
	groups, err := a.Read()
	if pid := uint64(p.pid()); err != nil || len(groups) != 1 || groups[0].By[0].Value != pid || groups[0].Count != 2 {
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
	if line, err := tracer.out.ReadString('\n'); err != nil || line != "\n" { // it has attached
		t.Fatalf("the tracer says %q (%v, %v)", line, err, tracer.end())
	}
	traced.do("")
	if _, err := tracer.in.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(tracer.out)
	if err := errors.Join(err, tracer.end()); err != nil {
		t.Errorf("%v\n%s", err, rest)
	}
}

// TestPIDNamespace holds that in a PID namespace options, conditions, events and
// groups mean the same PIDs.
func TestPIDNamespace(t *testing.T) {
	if !ownNamespace(t) {
		return
	}
	p := startChild(t, "versions")
	p.do("load old")
	o := attach.Options{Target: attach.Target{PIDs: []int{p.pid()}}, Where: fmt.Sprintf("pid == %d && tid < 1000", p.pid())}
	s := open(t, "versions:*", &o)
	a := openAggregate(t, []string{"versions:*"}, attach.Max("pid").By("pid"), &o)
	p.do("fire")
	events := drain(t, s)
	if len(events) != 2 || events[0].PID != p.pid() || events[0].TID < p.pid() || events[0].TID > p.pid()+100 {
		t.Errorf("events %+v, want two of process %d", events, p.pid())
	}
	groups, err := a.Read()
	pid := uint64(p.pid())
	if err != nil || len(groups) != 1 || groups[0].By[0].Value != pid || groups[0].Max != pid || groups[0].Count != 2 {
		t.Errorf("groups %+v (error %v), want one of process %d", groups, err, pid)
	}
}
