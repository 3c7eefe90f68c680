package targets_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/prototype"
)

// unwound are the options for stacks of code without frame pointers.
func unwound(pids ...int) *attach.Options {
	return &attach.Options{Target: attach.Target{PIDs: pids}, Stack: attach.MaxStack, Unwind: true}
}

// functionsOf returns the names of the functions on a stack, without the types of
// parameters, the innermost first.
func functionsOf(s *event.Stack) (names []string) {
	for _, f := range s.Frames() {
		name, _, _ := strings.Cut(f.Func, "(")
		names = append(names, name)
	}
	return names
}

// TestCXXStacks checks from where a program throws, whose code and libraries have no frame
// pointers: as many calls of deep as the program makes, and the thread's beginning.
func TestCXXStacks(t *testing.T) {
	needs.Root(t)
	p := start(t, compileThrows(t))
	s := open(t, []string{"libstdcxx:throw"}, unwound(p.PID()))
	const rounds = 50
	p.Do("1 %d", rounds)
	events := drain(t, s)
	if len(events) != rounds {
		t.Fatalf("%d events, want %d", len(events), rounds)
	}
	for i, ev := range events {
		names := functionsOf(ev.Stack)
		first := slices.Index(names, "deep")
		if first < 1 || names[0] != "__cxa_throw" {
			t.Fatalf("exception %d is thrown by %q, want __cxa_throw, deep", i, names)
		}
		n := 0
		for first+n < len(names) && names[first+n] == "deep" {
			n++
		}
		// The compiler makes one function of several levels.
		if n > 1+i%5 || i%5 == 0 && n != 1 || i%5 == 4 && n == 0 || names[first+n] != "work" {
			t.Errorf("exception %d: %d calls of deep of %d, then %q, want work", i, n, 1+i%5, names[first+n])
		}
		if last := names[len(names)-1]; !strings.HasPrefix(last, "clone") && last != "__clone3" {
			t.Errorf("exception %d: the stack ends with %q, want the beginning of a thread: %q", i, last, names)
		}
	}
}

// testLockStacks checks from where a server waits for a lock.
func testLockStacks(t *testing.T, p *postgres) {
	s := open(t, []string{p.server + ":postgresql:lock__wait__start"}, unwound())
	p.waitForLock()
	events := drain(t, s)
	if len(events) != 1 {
		t.Fatalf("%d waits, want 1", len(events))
	}
	names := functionsOf(events[0].Stack)
	at := 0
	for _, want := range []string{"LockAcquireExtended", "LockRelationOid", "RangeVarGetRelidExtended", "PostgresMain", "PostmasterMain", "main"} {
		i := slices.Index(names[at:], want)
		if i < 0 {
			t.Fatalf("the stack has no %s behind its first %d: %q", want, at, names)
		}
		at += i
	}
}

// framesOf returns the frames of a stack as a reader distinguishes them.
func framesOf(s *event.Stack) string {
	var b strings.Builder
	for _, f := range s.Frames() {
		fmt.Fprintf(&b, "%s %s+%#x:%d\n", f.Func, f.Module, f.Offset, f.Line)
	}
	return b.String()
}

// stacksAgree compares the stacks of groups, and their counts, with those of the same events.
func stacksAgree(t *testing.T, events []event.Event, a *attach.Aggregate) (all string) {
	t.Helper()
	groups, err := a.Read()
	if err != nil {
		t.Fatal(err)
	}
	want, got := map[string]uint64{}, map[string]uint64{}
	for _, ev := range events {
		want[framesOf(ev.Stack)]++
	}
	for _, g := range groups {
		s, ok := g.By[0].Value.(*event.Stack)
		if !ok {
			t.Fatalf("a group of %d events has no stack: %v", g.Count, g.By[0].Err)
		}
		got[framesOf(s)] += g.Count
		all += framesOf(s)
	}
	if d := cmp.Diff(want, got); d != "" || len(groups) != len(want) || len(want) == 0 {
		t.Errorf("%d groups of %d stacks (-events +groups):\n%s", len(groups), len(want), d)
	}
	return all
}

// byStack opens an aggregate of unwound stacks.
func byStack(t *testing.T, probe string, pids ...int) *attach.Aggregate {
	t.Helper()
	a, err := attach.OpenAggregate(t.Context(), []string{probe}, attach.Count().By("stack"), unwound(pids...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// TestThrowsByStack compares who throws, as groups and as events.
func TestThrowsByStack(t *testing.T) {
	needs.Root(t)
	p := start(t, compileThrows(t))
	s, a := open(t, []string{"libstdcxx:throw"}, unwound(p.PID())), byStack(t, "libstdcxx:throw", p.PID())
	p.Do("2 100")
	if all := stacksAgree(t, drain(t, s), a); !strings.Contains(all, "__cxa_throw") || !strings.Contains(all, "deep(int, int)") {
		t.Errorf("nobody throws:\n%s", all)
	}
}

// testLockWaitsByStack checks from where servers wait for locks, in one group although each is a
// process of its own, and from where they take the locks of shared memory.
func testLockWaitsByStack(t *testing.T, p *postgres) {
	a := byStack(t, p.server+":postgresql:lock__wait__start")
	p.waitForLock()
	p.waitForLock()
	waits, err := a.Read()
	if err != nil {
		t.Fatal(err)
	}
	if len(waits) != 1 || waits[0].Count != 2 {
		t.Fatalf("groups %v, want one of two waits", waits)
	}
	names, at := functionsOf(waits[0].By[0].Value.(*event.Stack)), 0
	for _, want := range []string{"LockAcquireExtended", "LockRelationOid", "RangeVarGetRelidExtended", "PostgresMain", "PostmasterMain", "main"} {
		i := slices.Index(names[at:], want)
		if i < 0 {
			t.Fatalf("the stack has no %s behind its first %d: %q", want, at, names)
		}
		at += i
	}

	light, err := attach.OpenAggregate(t.Context(), []string{p.server + ":postgresql:lwlock__acquire"}, attach.Count().By("tranche", "stack"), &attach.Options{Stack: 8, Prototypes: prototype.Known(), Unwind: true})
	if err != nil {
		t.Fatal(err)
	}
	defer light.Close()
	p.client("pgbench", "-n", "-c", "2", "-t", "20")
	groups, err := light.Read()
	if err != nil {
		t.Fatal(err)
	}
	st, err := light.Stats()
	if err != nil {
		t.Fatal(err)
	}
	// The last stacks of a server that has ended may come too late to be unwound.
	all, unknown := uint64(0), uint64(0)
	for _, g := range groups {
		if g.Other || g.By[0].Value != "WALInsert" {
			continue
		}
		stack, ok := g.By[1].Value.(*event.Stack)
		if !ok {
			all, unknown = all+g.Count, unknown+g.Count
			continue
		}
		names := functionsOf(stack)
		// The background writer takes each of the eight, now and then, to see whether anybody has
		// written (xlog.c, GetLastImportantRecPtr).
		if slices.Contains(names, "GetLastImportantRecPtr") && slices.Contains(names, "BackgroundWriterMain") {
			if names[0] != "LWLockAcquire" {
				t.Errorf("the background writer took %d locks from %q, want LWLockAcquire first", g.Count, names)
			}
			continue
		}
		all += g.Count
		if !slices.Contains(names, "LWLockAcquire") || !slices.Contains(names, "XLogInsert") {
			t.Errorf("%d locks for inserting into the log are from %q, want LWLockAcquire and XLogInsert in it", g.Count, names)
		}
	}
	if all+st.Lost < 40 || unknown > all/2 {
		t.Errorf("%d locks for inserting into the log, want one for each of 40 transactions at least; stacks of %d are unknown: %+v", all, unknown, st)
	}
}

// TestPprof opens a profile of who throws with pprof's own command, and compares the
// number of exceptions.
func TestPprof(t *testing.T) {
	needs.Root(t)
	p := start(t, compileThrows(t))
	dir := t.TempDir()
	sdttrace := needs.Build(t, "cmd/sdttrace")
	file, folded := filepath.Join(dir, "throws.pb.gz"), filepath.Join(dir, "throws.folded")
	var tracers []*exec.Cmd
	for format, name := range map[string]string{"pprof": file, "folded": folded} {
		cmd := exec.Command(sdttrace, "profile", "-p", strconv.Itoa(p.PID()), "--stack=dwarf", "--format", format, "-o", name, "libstdcxx:throw")
		stderr := new(tracee.Output)
		cmd.Stderr = stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer cmd.Process.Kill()
		stderr.Await(t, "attached to")
		tracers = append(tracers, cmd)
	}
	p.Do("2 100")
	for _, cmd := range tracers {
		cmd.Process.Signal(syscall.SIGINT)
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v: %s", err, cmd.Stderr)
		}
	}
	for _, c := range []struct{ args, want string }{
		{"-top", `(?m)^ +200 +100% +100% +200 +100% +__cxa_throw`},
		{"-top -cum -focus=deep", `(?m)^ +0 +0% +100% +200 +100% +work`},
		{"-tags", `(?m)^ +200 \(.*100%\): libstdcxx:throw$`},
		{"-raw", `probe:\[libstdcxx:throw\]`},
	} {
		args := append([]string{"tool", "pprof"}, append(strings.Fields(c.args), file)...)
		out := needs.Run(t, "go", args...)
		if !regexp.MustCompile(c.want).MatchString(out) {
			t.Errorf("pprof %s: no line matches %s:\n%s", c.args, c.want, out)
		}
	}
	b, err := os.ReadFile(folded)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	for line := range strings.Lines(string(b)) {
		names, number, _ := strings.Cut(strings.TrimSpace(line), "__cxa_throw ")
		n, err := strconv.Atoi(number)
		if err != nil || !strings.HasPrefix(names, "throws;") || !strings.Contains(names, ";deep") {
			t.Errorf("line %q, %v, want one that begins with the command and ends with __cxa_throw and a number", line, err)
		}
		sum += n
	}
	if sum != 200 {
		t.Errorf("the folded stacks are of %d exceptions, want 200", sum)
	}
}

// TestJVMStacks checks from where a virtual machine collects garbage: its own thread for
// that, which was asked to.
func TestJVMStacks(t *testing.T) {
	p := startJVM(t, "-XX:+UseSerialGC")
	before, _ := counted(t, p.Do("gc 1"))
	s := open(t, []string{"hotspot:gc__begin"}, unwound(p.PID()))
	after, _ := counted(t, p.Do("gc 3"))
	events := drain(t, s)
	if len(events) != after-before {
		t.Errorf("%d events, want the %d collections that the program counts", len(events), after-before)
	}
	for _, ev := range events {
		names := functionsOf(ev.Stack)
		at := 0
		for _, want := range []string{"VM_GC_Operation::notify_gc_begin", "VM_GenCollectFull::doit", "VMThread::run", "thread_native_entry"} {
			i := slices.Index(names[at:], want)
			if i < 0 {
				t.Fatalf("the stack has no %s behind its first %d: %q", want, at, names)
			}
			at += i
		}
	}
}

// writePerfMap has a virtual machine write what its compiled code is called to /tmp/perf-PID.map,
// as its jcmd does, which not every installation has: by a file and a signal, which have it listen
// on a socket.
func writePerfMap(t *testing.T, pid int) {
	t.Helper()
	ask := fmt.Sprintf("/proc/%d/cwd/.attach_pid%d", pid, pid)
	if err := os.WriteFile(ask, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(ask)
	if err := syscall.Kill(pid, syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	var conn net.Conn
	for deadline, err := time.Now().Add(2*time.Minute), error(nil); conn == nil; {
		if conn, err = net.Dial("unix", fmt.Sprintf("/tmp/.java_pid%d", pid)); err != nil && time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	defer conn.Close()
	t.Cleanup(func() { os.Remove(fmt.Sprintf("/tmp/perf-%d.map", pid)) })
	if _, err := conn.Write([]byte("1\x00jcmd\x00Compiler.perfmap\x00\x00\x00")); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(answer), "0\n") {
		t.Fatalf("the machine answers %q, %v", answer, err)
	}
}

// TestJVMMethodStacks checks that methods are called by Java code, which a perf map names.
func TestJVMMethodStacks(t *testing.T) {
	p := startJVM(t, "-XX:+DTraceMethodProbes", "-XX:+PreserveFramePointer", "-XX:TieredStopAtLevel=1", "-XX:-Inline", "-XX:-BackgroundCompilation")
	p.Do("call 100000") // so that step is compiled
	writePerfMap(t, p.PID())
	o := unwound(p.PID())
	o.Where = `arg1 == "Work" && arg3 == "step"`
	o.Strings = []string{"hotspot:method__*:arg1[arg2]", "hotspot:method__*:arg3[arg4]"}
	s := open(t, []string{"hotspot:method__entry"}, o)
	p.Do("call 50")
	events := drain(t, s)
	if len(events) != 50 {
		t.Errorf("%d calls traced, want 50", len(events))
	}
	for _, ev := range events {
		names := functionsOf(ev.Stack)
		at := 0
		for _, want := range []string{"SharedRuntime::dtrace_method_entry", "int Work.step", "JavaCalls::call_helper", "JavaMain", "start_thread"} {
			i := slices.Index(names[at:], want)
			if i < 0 {
				t.Fatalf("the stack has no %s behind its first %d: %q", want, at, names)
			}
			at += i
		}
	}
}
