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
)

// inNamespace is the environment variable that says in which test this binary is
// the first process of a PID namespace.
const inNamespace = "ATTACH_TEST_NAMESPACE"

// ownNamespace runs the test once more, as the first process of a PID namespace
// that has a /proc of its own, and reports whether this is that run.
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
func startAs(t *testing.T, pid int, run func() *program) *program {
	t.Helper()
	for range 100 { // this process's threads take some as well
		if err := os.WriteFile("/proc/sys/kernel/ns_last_pid", strconv.AppendInt(nil, int64(pid-1), 10), 0); err != nil {
			needs.Skip(t, "no PID can be chosen: %v", err) // CONFIG_CHECKPOINT_RESTORE
		}
		p := run()
		if p.pid() == pid {
			return p
		}
		p.end()
	}
	t.Fatalf("no process gets the PID %d", pid)
	return nil
}

// TestReusedPID has the PID of a traced process given to another one, of which
// neither sessions with links for each process nor one for many see anything.
func TestReusedPID(t *testing.T) {
	if !ownNamespace(t) {
		return
	}
	for _, link := range []attach.LinkKind{attach.AutoLink, attach.PerfLink} {
		first, second := startChild(t, "versions"), startChild(t, "versions")
		first.do("load old")
		pid := first.pid()
		s, err := attach.Open(t.Context(), []string{"versions:*"}, &attach.Options{Target: attach.Target{PIDs: []int{pid, second.pid()}}, Rescan: time.Millisecond, Link: link})
		if err != nil {
			needPrivileges(t, err)
			t.Fatal(err)
		}
		first.do("fire")
		if err := first.end(); err != nil {
			t.Fatal(err)
		}
		stranger := startAs(t, pid, func() *program { return startChild(t, "versions") })
		stranger.do("load new")
		// Whoever has found these has looked at the first PID before.
		second.do("load old")
		awaitSites(t, s.Plan, 4)
		stranger.do("fire")
		second.do("fire")
		fired := map[int]int{}
		for _, ev := range drain(t, s) {
			fired[ev.PID]++
			if len(ev.Args) != 1 {
				t.Errorf("link %v: %s %v is an event of the stranger's", link, ev.Name, ev.Args)
			}
		}
		if fired[pid] != 2 || fired[second.pid()] != 2 || len(s.Plan()) != 4 {
			t.Errorf("link %v: got %v events and %d sites, want 2 of both %d and %d, and 4 sites", link, fired, len(s.Plan()), pid, second.pid())
		}
		checkSum(t, s)
		if err := errors.Join(s.Close(), s.Wait(t.Context()), stranger.end(), second.end()); err != nil {
			t.Error(err)
		}
		// Nor can it be attached to in place of the one that was chosen.
		_, err = attach.Open(t.Context(), []string{"versions:*"}, &attach.Options{Target: attach.Target{PIDs: []int{pid}}})
		if want := fmt.Sprintf("process %d does not exist", pid); err == nil || err.Error() != want {
			t.Errorf("link %v: error %v, want %s", link, err, want)
		}
	}
}

// TestReusedPIDOfMany is TestReusedPID for so many processes that one link serves
// them all, which sees the stranger's events as well.
func TestReusedPIDOfMany(t *testing.T) {
	if !ownNamespace(t) {
		return
	}
	path := compile(t, "gcc", "-O2")
	programs, pids := startMany(t, path, 10)
	for _, link := range []attach.LinkKind{attach.AutoLink, attach.PerfLink} {
		s := open(t, "args:bare", &attach.Options{Target: attach.Target{PIDs: pids}, Link: link})
		first := programs[0]
		first.do("")
		if err := first.end(); err != nil {
			t.Fatal(err)
		}
		stranger := startAs(t, pids[0], func() *program { return start(t, exec.Command(path)) })
		stranger.do("")
		programs[1].do("")
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
