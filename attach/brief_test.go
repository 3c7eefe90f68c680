package attach_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/total"
)

// briefProgram compiles testdata/brief.c, and the object that it loads.
func briefProgram(t testing.TB, flag string) (path, object string) {
	path = compileC(t, "brief", "gcc", "-O1", "-g", flag, "-fno-optimize-sibling-calls", "-ldl")
	object = needs.Compile(t, "testdata/briefcalls.c", "gcc", "-O1", "-g", flag, "-fno-optimize-sibling-calls", "-shared", "-fPIC")
	return path, object
}

// briefStack is what calls the probe of testdata/brief.c.
const briefStack = "leaf calls fire main"

// runBriefly runs processes that end right after they have fired: so many that execute the
// program, and so many children of one.
func runBriefly(t testing.TB, path, object string, n int) {
	t.Helper()
	for range n {
		if out, err := exec.Command(path, object).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if out, err := exec.Command(path, object, fmt.Sprint(n)).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// TestStackOfEnded checks that stacks are named of processes that had ended before anybody
// could look at them, with code that they had just loaded.
func TestStackOfEnded(t *testing.T) {
	for name, o := range map[string]attach.Options{
		"frame pointers": {Stack: attach.MaxStack}, "call frames": {Stack: attach.MaxStack, Unwind: true},
	} {
		t.Run(name, func(t *testing.T) {
			flag := "-fno-omit-frame-pointer"
			if o.Unwind {
				flag = "-fomit-frame-pointer"
			}
			path, object := briefProgram(t, flag)
			var wrong []string
			for range 5 { // the kernel drops mappings if a slow machine keeps us waiting
				var untold bool
				if wrong, untold = stacksOfEnded(t, path, object, &o); !untold {
					break
				}
			}
			for _, w := range wrong {
				t.Error(w)
			}
		})
	}
}

// stacksOfEnded returns what is wrong with the stacks of processes that have ended, and whether
// the kernel dropped what they mapped.
func stacksOfEnded(t *testing.T, path, object string, o *attach.Options) (wrong []string, untold bool) {
	const processes = 20
	s := open(t, path+":brief:hit", o)
	a := openAggregate(t, []string{path + ":brief:hit"}, attach.Count().By("stack"), o)
	runBriefly(t, path, object, processes)
	events := drain(t, s)
	if len(events) != 2*processes {
		t.Errorf("%d events, want %d", len(events), 2*processes)
	}
	for _, ev := range events {
		if got := functions(ev.Stack); got != briefStack {
			wrong = append(wrong, fmt.Sprintf("stack %q, want %q: %v", got, briefStack, ev.Stack.Frames()))
		}
		if o.Unwind && ev.Stack.Err != nil {
			wrong = append(wrong, fmt.Sprintf("stack of %d addresses: %v", len(ev.Stack.PCs), ev.Stack.Err))
		}
	}
	counts := map[string]uint64{}
	for _, g := range readGroups(t, a) {
		counts[briefKey(g)] += g.Count
	}
	if d := cmp.Diff(map[string]uint64{briefStack: 2 * processes}, counts); d != "" {
		wrong = append(wrong, "by stack (-want +got):\n"+d)
	}
	for _, of := range []interface{ Stats() (attach.Stats, error) }{s, a} {
		st, err := of.Stats()
		if err != nil {
			t.Fatal(err)
		}
		untold = untold || st.Untold > 0
	}
	return wrong, untold && wrong != nil
}

// TestByStackOfManyEnded checks that so many processes, each with a stack of its own for a moment,
// are one group if they run the same code, and not among the others.
func TestByStackOfManyEnded(t *testing.T) {
	if testing.Short() {
		t.Skip("short: it runs a thousand processes")
	}
	path, object := briefProgram(t, "-fno-omit-frame-pointer")
	// The kernel drops mappings if a slow machine keeps us waiting.
	for range 5 {
		if untold := groupManyEnded(t, path, object); !untold {
			return
		}
	}
	t.Error("the kernel dropped what processes mapped, five times")
}

// groupManyEnded reports whether the kernel dropped what processes mapped, which leaves the rest
// of the test without names.
func groupManyEnded(t *testing.T, path, object string) (untold bool) {
	a := openAggregate(t, []string{path + ":brief:hit"}, attach.Quantiles("arg0", 50).By("stack"), &attach.Options{Stack: attach.MaxStack})
	const room, batch = 512, 50 // of the kernel's map, with quantiles
	processes := 0
	for processes <= 2*room {
		if out, err := exec.Command(path, object, fmt.Sprint(batch)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if err := attach.Keep(a); err != nil {
			t.Fatal(err)
		}
		processes += batch
	}
	groups := readGroups(t, a)
	st, err := a.Stats()
	if err != nil {
		t.Fatal(err)
	}
	if len(groups) == 1 && briefKey(groups[0]) == briefStack && groups[0].Count == uint64(processes) {
		return false
	}
	for _, g := range groups[:min(5, len(groups))] {
		t.Logf("%d times %s", g.Count, briefKey(g))
	}
	if st.Untold == 0 {
		t.Errorf("%d groups, want one with %d events", len(groups), processes)
	}
	return st.Untold > 0
}

// briefKey are the functions of a group's stack.
func briefKey(g total.Group) string {
	if s, ok := g.By[0].Value.(*event.Stack); ok {
		return functions(s)
	}
	return fmt.Sprint(g.By[0].Err, g.Other)
}

func init() {
	roles["briefly"] = func([]string) error { brieflyCaller(3); return nil }
}

//go:noinline
func brieflyCaller(n int) int { return brieflyCalled(n) + 1 }

//go:noinline
func brieflyCalled(n int) int { return n * os.Getpid() }

// TestStackOfEndedGo is TestStackOfEnded for programs in Go, whose build-ids the kernel does not
// find.
func TestStackOfEndedGo(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const processes = 5
	s := open(t, "uprobe:"+self+":github.com/go-usdt/usdt/attach_test.brieflyCalled", &attach.Options{Stack: attach.MaxStack})
	for range processes {
		if out, err := tracee.Self("briefly").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	events := drain(t, s)
	if len(events) != processes {
		t.Errorf("%d events, want %d", len(events), processes)
	}
	for _, ev := range events {
		var names []string
		for _, f := range ev.Stack.Frames() {
			names = append(names, f.Func)
		}
		want := "github.com/go-usdt/usdt/attach_test.brieflyCalled github.com/go-usdt/usdt/attach_test.brieflyCaller"
		if got := strings.Join(names, " "); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, " runtime.main runtime.goexit") && !strings.HasSuffix(got, " runtime.main") {
			t.Errorf("stack %s, want it to begin with %s, and to end with the goroutine", got, want)
		}
	}
}

// TestStackOfGoneFiles checks that code has names when its process has ended and nobody can reach
// its file any more: it was deleted, or in a file system that ended with the process.
func TestStackOfGoneFiles(t *testing.T) {
	path, object := briefProgram(t, "-fno-omit-frame-pointer")
	dir := t.TempDir()
	there := filepath.Join(dir, "brief")
	mounted := exec.Command("sh", "-c", `mount -t tmpfs none "$2" && cp "$0" "$2/brief" && exec "$2/brief" "$1" 0 wait`, path, object, dir)
	mounted.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS, Unshareflags: unix.CLONE_NEWNS}
	for name, test := range map[string]struct {
		cmd *exec.Cmd
		end func() error // of its file
	}{
		"deleted":   {exec.Command(there, object, "0", "wait"), func() error { return os.Remove(there) }},
		"unmounted": {mounted, func() error { return nil }},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "deleted" {
				b, err := os.ReadFile(path)
				if err == nil {
					err = os.WriteFile(there, b, 0o755)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			p := start(t, test.cmd)
			awaitMapped(t, p.PID(), there)
			s := open(t, "brief:hit", &attach.Options{Stack: attach.MaxStack, Target: attach.Target{PIDs: []int{p.PID()}}})
			if err := test.end(); err != nil {
				t.Fatal(err)
			}
			p.Send("")
			if p.Rest(); p.End() != nil {
				t.Fatal("the program failed")
			}
			if _, err := os.Stat(there); err == nil {
				t.Fatalf("%s is still there", there)
			}
			events := drain(t, s)
			if len(events) != 1 {
				t.Fatalf("%d events, want 1", len(events))
			}
			if got := functions(events[0].Stack); got != briefStack {
				t.Errorf("stack %q, want %q: %v", got, briefStack, events[0].Stack.Frames())
			}
		})
	}
}

// awaitMapped waits until a process runs code of the file at path.
func awaitMapped(t testing.TB, pid int, path string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(maps), path) {
			return
		}
	}
	t.Fatalf("process %d has not mapped %s within a minute", pid, path)
}
