package attach_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// inNamespace is the environment variable that says in which test this binary is
// the first process of a PID namespace.
const inNamespace = "ATTACH_TEST_NAMESPACE"

// ownNamespace runs the test again, as the first process of a PID namespace with
// a /proc of its own, and reports whether this is that run.
func ownNamespace(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inNamespace) == t.Name() {
		if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
			t.Fatal(err)
		}
		return true
	}
	needs.Root(t)
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), inNamespace+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS, Unshareflags: unix.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("in a PID namespace: %v\n%s", err, out)
	}
	if reason, skipped := skipReason(out); skipped {
		needs.Skip(t, "%s", reason)
	}
	return false
}

// startAs starts a program under a PID that was another's.
func startAs(t *testing.T, pid int, run func() *tracee.Program) *tracee.Program {
	t.Helper()
	for range 100 { // this process's threads take some as well
		if err := os.WriteFile("/proc/sys/kernel/ns_last_pid", strconv.AppendInt(nil, int64(pid-1), 10), 0); err != nil {
			needs.Skip(t, "no PID can be chosen: %v", err) // CONFIG_CHECKPOINT_RESTORE
		}
		p := run()
		if p.PID() == pid {
			return p
		}
		p.End()
	}
	t.Fatalf("no process gets the PID %d", pid)
	return nil
}

// TestReusedPID gives the PID of a traced process to another one, and checks that
// sessions, with links per process or one for many, see nothing of it.
func TestReusedPID(t *testing.T) {
	if !ownNamespace(t) {
		return
	}
	t.Setenv("USDT_LOCAL", "1")
	for _, way := range []struct {
		link attach.LinkKind
		via  attach.Via
		min  int // sites: those of a process whose ring has been read leave the plan
	}{{attach.AutoLink, attach.ViaKernel, 4}, {attach.PerfLink, attach.ViaKernel, 4}, {attach.AutoLink, attach.ViaLocal, 2}} {
		link := way.link
		first, second := startChild(t, "versions"), startChild(t, "versions")
		first.Do("load old")
		pid := first.PID()
		s, err := attach.Open(t.Context(), []string{"versions:*"}, &attach.Options{Target: attach.Target{PIDs: []int{pid, second.PID()}, Via: way.via}, Rescan: tracee.RescanEvery(time.Millisecond), Link: link})
		if err != nil {
			needPrivileges(t, err)
			t.Fatal(err)
		}
		first.Do("fire")
		if err := first.End(); err != nil {
			t.Fatal(err)
		}
		stranger := startAs(t, pid, func() *tracee.Program { return startChild(t, "versions") })
		stranger.Do("load new")
		// A session that has found these looked at the first PID before.
		second.Do("load old")
		for deadline := time.Now().Add(time.Minute); !attachedIn(s.Plan(), second.PID(), 2); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("via %v: plan %+v", way.via, s.Plan())
			}
		}
		stranger.Do("fire")
		second.Do("fire")
		fired := map[int]int{}
		for _, ev := range drain(t, s) {
			fired[ev.PID]++
			if len(ev.Args) != 1 {
				t.Errorf("link %v: %s %v is an event of the stranger's", link, ev.Name, ev.Args)
			}
		}
		if fired[pid] != 2 || fired[second.PID()] != 2 || len(s.Plan()) < way.min || len(s.Plan()) > 4 {
			t.Errorf("via %v, link %v: got %v events and %d sites, want 2 of both %d and %d, and %d to 4 sites", way.via, link, fired, len(s.Plan()), pid, second.PID(), way.min)
		}
		checkSum(t, s)
		if err := errors.Join(s.Close(), s.Wait(t.Context()), stranger.End(), second.End()); err != nil {
			t.Error(err)
		}
		// Nor can the new process be attached to in place of the chosen one.
		_, err = attach.Open(t.Context(), []string{"versions:*"}, &attach.Options{Target: attach.Target{PIDs: []int{pid}, Via: way.via}})
		if want := fmt.Sprintf("process %d does not exist", pid); err == nil || err.Error() != want {
			t.Errorf("link %v: error %v, want %s", link, err, want)
		}
	}
}

// attachedIn reports whether a plan has so many sites of a process that are attached to.
func attachedIn(plan attach.Plan, pid, n int) bool {
	for _, s := range plan {
		if s.Attached && s.PID == pid {
			n--
		}
	}
	return n == 0
}

// TestReusedPIDOfMany is TestReusedPID for so many processes that one link serves
// them all, and sees the stranger's events as well.
func TestReusedPIDOfMany(t *testing.T) {
	if !ownNamespace(t) {
		return
	}
	path := compile(t, "gcc", "-O2")
	programs, pids := tracee.StartMany(t, path, 10)
	for _, link := range []attach.LinkKind{attach.AutoLink, attach.PerfLink} {
		s := open(t, "args:bare", &attach.Options{Target: attach.Target{PIDs: pids}, Link: link})
		first := programs[0]
		first.Do("")
		if err := first.End(); err != nil {
			t.Fatal(err)
		}
		stranger := startAs(t, pids[0], func() *tracee.Program { return start(t, exec.Command(path)) })
		stranger.Do("")
		programs[1].Do("")
		fired := map[int]int{}
		for _, ev := range drain(t, s) {
			fired[ev.PID]++
		}
		if fired[pids[0]] != 1 || fired[pids[1]] != 1 {
			t.Errorf("link %v: events %v, want one of %d, before it ended, and one of %d", link, fired, pids[0], pids[1])
		}
		checkSum(t, s)
		if err := errors.Join(s.Close(), s.Wait(t.Context())); err != nil {
			t.Error(err)
		}
		programs[0] = stranger // whom the next session is for
	}
}

// skipReason finds in the output of a test why it was skipped.
func skipReason(out []byte) (string, bool) {
	_, rest, ok := bytes.Cut(out, []byte("_test.go:"))
	if !ok || !bytes.Contains(out, []byte("--- SKIP")) {
		return "", false
	}
	_, rest, _ = bytes.Cut(rest, []byte(": "))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	return string(line), true
}
