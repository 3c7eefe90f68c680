package attach_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// checkKernelStack checks that the kernel's calls come first in a stack, from a function on, and are named,
// and that the program's calls follow.
func checkKernelStack(t testing.TB, s *event.Stack, first string) {
	t.Helper()
	frames := s.Frames()
	kernel := 0
	for kernel < len(frames) && frames[kernel].Kernel() {
		if f := &frames[kernel]; f.Func == "" || !strings.HasPrefix(f.Module, "[") {
			t.Errorf("call %d of the kernel has no name: %+v", kernel, *f)
		}
		kernel++
	}
	if kernel < 2 || first != "" && frames[0].Func != first {
		t.Fatalf("%d calls of the kernel, want some from %s on: %v, %v", kernel, first, frames, s.Err)
	}
	var names []string
	for _, f := range frames[kernel:] {
		if f.Kernel() {
			t.Errorf("a call of the kernel follows the program's: %v", frames)
		}
		names = append(names, f.Func)
	}
	if program := strings.Join(names, " "); !strings.Contains(program, "unix.Fallocate") || !strings.HasSuffix(program, "main.main runtime.main runtime.goexit") {
		t.Errorf("the program's calls are %s, want unix.Fallocate and what leads to it: %v, %v", program, frames, s.Err)
	}
}

// TestKernelStack checks the stacks of functions of the kernel: in events, with fewer calls, in a recording, and
// in groups that the kernel and that Go adds up.
func TestKernelStack(t *testing.T) {
	needs.Kprobes(t)
	p := startChild(t, "fallocating")
	o := functionsOf(p.PID(), "")
	groups := func(o *attach.Options) *attach.Aggregate {
		a, err := attach.OpenAggregate(t.Context(), []string{"kprobe:vfs_fallocate"}, attach.Count().By("stack"), o)
		if err != nil {
			needPrivileges(t, err)
			t.Fatal(err)
		}
		t.Cleanup(func() { a.Close() })
		return a
	}
	unwound, few := *o, *o
	unwound.Stack, unwound.Unwind = 64, true
	few.Stack = 2
	o.Stack = attach.MaxStack
	sums := map[string]*attach.Aggregate{"by frame pointers": groups(o), "with Unwind": groups(&unwound)}
	live, err := attach.Open(t.Context(), []string{"kprobe:vfs_fallocate", "kretprobe:vfs_fallocate"}, o)
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	short, err := attach.Open(t.Context(), []string{"kprobe:vfs_fallocate"}, &few)
	if err != nil {
		t.Fatal(err)
	}
	defer short.Close()
	saved := startRecord(t, []string{"kprobe:vfs_fallocate"}, o)
	const calls = 5
	p.Do(fmt.Sprint(calls, " 4096"))
	file := saved.end(t)
	for _, ev := range drain(t, live) {
		if ev.Probe.Kind.String() == "kprobe" {
			checkKernelStack(t, ev.Stack, "vfs_fallocate")
		} else if frames := ev.Stack.Frames(); len(frames) == 0 || !frames[0].Kernel() {
			t.Errorf("the stack of a return: %v, %v", frames, ev.Stack.Err)
		}
	}
	for _, ev := range drain(t, short) {
		if frames := ev.Stack.Frames(); len(frames) != 2 || frames[0].Func != "vfs_fallocate" || !frames[1].Kernel() {
			t.Errorf("two calls: %v, %v", frames, ev.Stack.Err)
		}
	}
	recorded := stacksOfFile(t, file, attach.MaxStack, "*:*")
	if len(recorded) != calls {
		t.Errorf("%d recorded events, want %d", len(recorded), calls)
	}
	for _, ev := range recorded {
		checkKernelStack(t, ev.Stack, "vfs_fallocate")
	}
	for name, a := range sums {
		groups := readGroups(t, a)
		if len(groups) != 1 || groups[0].Count != calls {
			t.Errorf("groups %s: %+v, want one of %d", name, groups, calls)
			continue
		}
		checkKernelStack(t, groups[0].By[0].Value.(*event.Stack), "vfs_fallocate")
	}
}

// TestKernelAfterProgram matches a function of the program with one of the kernel that it calls, in one thread, and
// sees both in one session.
func TestKernelAfterProgram(t *testing.T) {
	needs.Kprobes(t)
	p := startChild(t, "fallocating")
	function := fmt.Sprintf("uprobe:/proc/%d/exe:golang.org/x/sys/unix.Fallocate", p.PID())
	l, err := attach.OpenLatency(t.Context(), function, "kprobe:vfs_fallocate", &attach.LatencyOptions{Key: []string{"tid"}, By: []string{"len"}}, functionsOf(p.PID(), ""))
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	defer l.Close()
	s, err := attach.Open(t.Context(), []string{function, "kprobe:vfs_fallocate"}, functionsOf(p.PID(), ""))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const calls = 40
	p.Do(fmt.Sprint(calls, " 4096"))
	pairs, err := l.Pairs()
	if err != nil || pairs.Pairs != calls || pairs.Pending != 0 || pairs.Unstarted != 0 {
		t.Errorf("%+v, error %v; want %d pairs", pairs, err, calls)
	}
	groups, err := l.Read()
	if err != nil || len(groups) != 1 || groups[0].Count != calls || groups[0].By[0].Value != int64(4096) {
		t.Errorf("groups %+v, error %v", groups, err)
	}
	var order []string
	for _, ev := range drain(t, s) {
		order = append(order, ev.Probe.Kind.String())
	}
	if got, want := strings.Join(order, " "), strings.TrimSpace(strings.Repeat("uprobe kprobe ", calls)); got != want {
		t.Errorf("events %s, want %d pairs", got, calls)
	}
	if st := checkSum(t, s); st.Received != 2*calls || st.Lost+st.Missed+st.Filtered != 0 {
		t.Errorf("stats %+v", st)
	}
}
