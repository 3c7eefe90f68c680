package targets_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// compileThrows compiles testdata/throws.cc.
func compileThrows(t testing.TB) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "throws")
	msg, err := exec.Command("g++", "-O2", "-pthread", "-o", out, "testdata/throws.cc").CombinedOutput()
	if err != nil {
		needs.Skip(t, "needs g++: %v: %s", err, msg)
	}
	return out
}

// TestCXX compares exceptions with the output of the program that throws them:
// the thrown object and its type, at every throw, catch and rethrow of each
// thread.
func TestCXX(t *testing.T) {
	needs.Root(t)
	p := start(t, compileThrows(t))
	s := open(t, []string{"libstdcxx:*"}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	probes := live(t, p.PID(), s)
	checkArmed(t, probes)
	const threads, rounds = 3, 200
	told := p.Do("%d %d", threads, rounds)
	events := drain(t, s)
	checkClean(t, probes)

	want := map[string][]string{} // by thread
	for _, line := range strings.Split(strings.TrimSuffix(told, ";"), ";") {
		tid, what, _ := strings.Cut(line, " ")
		want[tid] = append(want[tid], what)
	}
	got := map[string][]string{}
	for _, ev := range events {
		tid := fmt.Sprint(ev.TID)
		got[tid] = append(got[tid], fmt.Sprintf("%s %#x %#x", append([]any{ev.Name}, values(t, &ev)...)...))
	}
	if len(want) != threads || len(events) < threads*rounds*2 {
		t.Errorf("%d events of %d threads, want %d threads", len(events), len(want), threads)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("exceptions (-told +traced):\n%s", d)
	}
}
