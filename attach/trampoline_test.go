package attach_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// trampolines ends the test, as passed, on a kernel without trampolines, once it has said so.
func trampolines(t *testing.T) bool {
	t.Helper()
	needs.Kprobes(t)
	s, err := attach.Open(t.Context(), []string{"fentry:vfs_fallocate"}, functionsOf(os.Getpid(), ""))
	if err == nil {
		s.Close()
		return true
	}
	needPrivileges(t, err)
	if runtime.GOARCH == "arm64" && errors.Is(err, ebpf.ErrNotSupported) && strings.Contains(err.Error(), "no BPF trampolines") {
		return false
	}
	t.Fatal(err)
	return false
}

// TestTrampolines counts calls of a function that a program makes, and reads its arguments at the entry, and
// at the return beside its result, by trampolines. Another process makes such calls as well.
func TestTrampolines(t *testing.T) {
	if !trampolines(t) {
		return
	}
	p, other := startChild(t, "fallocating"), startChild(t, "fallocating")
	counts, err := attach.OpenAggregate(t.Context(), []string{"fexit:vfs_fallocate"}, attach.Sum("len").By("func", "module", "mode"), functionsOf(p.PID(), "offset >= 4096"))
	if err != nil {
		t.Fatal(err)
	}
	defer counts.Close()
	s, err := attach.Open(t.Context(), []string{"fentry:vmlinux:vfs_fallocat?", "fexit:vfs_fallocate"}, functionsOf(p.PID(), ""))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	chosen := functionsOf(p.PID(), "")
	chosen.Args = []string{"retval", "len"}
	few, err := attach.Open(t.Context(), []string{"fexit:vfs_fallocate"}, chosen)
	if err != nil {
		t.Fatal(err)
	}
	defer few.Close()
	const calls = 25
	other.Do("7 4096")
	p.Do(fmt.Sprint(calls, " 8192"))
	other.Do("7 4096")
	groups, err := counts.Read()
	if err != nil {
		t.Fatal(err)
	}
	if len(groups) != 1 || groups[0].Count != calls-1 || fmt.Sprint(groups[0].Sum) != fmt.Sprint(8192*(calls-1)) || fmt.Sprintf("%v %v %v", groups[0].By[0].Value, groups[0].By[1].Value, groups[0].By[2].Value) != "vfs_fallocate vmlinux 1" {
		t.Errorf("groups %+v, want %d calls of vfs_fallocate for 8192 bytes each", groups, calls-1)
	}
	seen := map[string]int{}
	for _, ev := range drain(t, s) {
		args := map[string]any{}
		for _, a := range ev.Args {
			if a.Err != nil {
				t.Errorf("%s: %v", a.Name, a.Err)
			}
			args[a.Name] = a.Value
		}
		kind := ev.Probe.Kind.String()
		if ev.PID != p.PID() || ev.Provider != "vmlinux" || ev.Name != "vfs_fallocate" {
			t.Errorf("event %+v of process %d, want one of %d", ev, ev.PID, p.PID())
		}
		v, result := args["retval"].(int64)
		if result != (kind == "fexit") || v > 0 {
			t.Errorf("%s: result %v", kind, args["retval"])
		}
		if args["mode"] != int64(unix.FALLOC_FL_KEEP_SIZE) || args["offset"] != int64(4096*seen[kind]) || args["len"] != int64(8192) || args["file"].(uint64)>>63 == 0 {
			t.Errorf("%s: call %d has %v", kind, seen[kind], args)
		}
		seen[kind]++
	}
	if seen["fentry"] != calls || seen["fexit"] != calls {
		t.Errorf("%v, want %d entries and returns", seen, calls)
	}
	for _, ev := range drain(t, few) {
		if len(ev.Args) != 2 || ev.Args[0].Name != "len" || ev.Args[1].Name != "retval" || ev.Args[0].Value != int64(8192) {
			t.Errorf("chosen arguments %+v", ev.Args)
		}
	}
	st := checkSum(t, s)
	if st.Fired != 2*calls || st.Lost+st.Filtered != 0 {
		t.Errorf("stats %+v", st)
	}
	for i, site := range s.Plan() {
		if !site.Attached {
			t.Errorf("site %d: %v", i, site.Reason)
		}
	}
}

// TestTrampolineLatency matches entries and returns of functions of the kernel that call each other.
func TestTrampolineLatency(t *testing.T) {
	if !trampolines(t) {
		return
	}
	p := startChild(t, "fallocating")
	for _, test := range []struct {
		start, end string
		functions  uint64
	}{
		{"fentry:vfs_fallocate", "fexit:vfs_fallocate", 1},
		{"fentry:*s_fallocate", "fexit:*s_fallocate", 2}, // the system call, at least
	} {
		l, err := attach.OpenLatency(t.Context(), test.start, test.end, &attach.LatencyOptions{By: []string{"func"}}, functionsOf(p.PID(), ""))
		if err != nil {
			t.Fatal(err)
		}
		const calls = 40
		p.Do(fmt.Sprint(calls, " 4096"))
		pairs, err := l.Pairs()
		if err != nil || pairs.Pairs%calls != 0 || pairs.Pairs < test.functions*calls || pairs.Pending != 0 || pairs.Unstarted != 0 {
			t.Errorf("%s: %+v, error %v; want %d pairs for each function", test.start, pairs, err, calls)
		}
		groups, err := l.Read()
		if err != nil || uint64(len(groups)) != pairs.Pairs/calls {
			t.Errorf("groups %+v, error %v, %d pairs", groups, err, pairs.Pairs)
		}
		for i := range groups {
			if groups[i].Count != calls {
				t.Errorf("%s: %v has %d calls, want %d", test.start, groups[i].By, groups[i].Count, calls)
			}
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestTrampolinesRefused checks what is said of functions at which no trampoline can be put, and that others
// are attached to beside them.
func TestTrampolinesRefused(t *testing.T) {
	needs.Kprobes(t)
	_, err := attach.Open(t.Context(), []string{"fentry:*"}, functionsOf(os.Getpid(), ""))
	needPrivileges(t, err)
	if err == nil || !strings.Contains(err.Error(), "minutes") {
		t.Errorf("fentry:*: error %v, want it refused", err)
	}
	if s, err := attach.Open(t.Context(), []string{"fentry:no_module:*"}, functionsOf(os.Getpid(), "")); err == nil || strings.Contains(err.Error(), "minutes") {
		t.Errorf("fentry:no_module:*: session %v, error %v", s, err)
	}
	if !trampolines(t) {
		return
	}
	for _, c := range []struct{ selector, where, want string }{
		{"fentry:vfs_falocate", "", "no probe matches fentry:vfs_falocate in the kernel, but fentry:vfs_fallocate would"},
		{"fentry:migrate_disable", "", "no trampoline can be put there"},
		{"fentry:hrtimer_*", "", "name such a function exactly"},
		{"fentry:vfs_fallocate", "retval > 1", "it has no result at its entry"},
		{"fexit:vfs_fallocate", "size > 1", "vfs_fallocate has no argument size"},
	} {
		s, err := attach.Open(t.Context(), []string{c.selector}, functionsOf(os.Getpid(), c.where))
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: error %v, want %q", c.selector, c.where, err, c.want)
		}
	}
	if attach.TrampolinesAlone() {
		_, err := attach.Open(t.Context(), []string{"fentry:tcp_*"}, functionsOf(os.Getpid(), ""))
		if option := (*attach.OptionError)(nil); !errors.As(err, &option) || option.Option != "Force" || !strings.Contains(err.Error(), "a trampoline and a program each") {
			t.Errorf("fentry:tcp_*: error %v, want an OptionError for Force", err)
		}
	}
	s, err := attach.Open(t.Context(), []string{"fexit:migrate_disable", "fexit:vfs_fallocate"}, functionsOf(os.Getpid(), ""))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, site := range s.Plan() {
		if site.Attached != (site.Probe.Name == "vfs_fallocate") {
			t.Errorf("%s: attached %v, reason %v", site.Probe.Name, site.Attached, site.Reason)
		}
	}
}

// TestTrampolinesMissed has more tasks than processors call a function, and compares what became of each
// call: tasks that run into the program of a preempted one are left out, and counted.
func TestTrampolinesMissed(t *testing.T) {
	if !trampolines(t) {
		return
	}
	for name, where := range map[string]string{"all": "", "some": "offset < 4096000"} {
		t.Run(name, func(t *testing.T) {
			compareMissed(t, "fallocating", "2000 4096", "fentry:vfs_fallocate", "fexit:vfs_fallocate", where)
		})
	}
}

// TestTrampolineStack checks that stacks at trampolines lead from the system call to the program. The function
// itself is missing where the kernel makes its trampolines jumps.
func TestTrampolineStack(t *testing.T) {
	if !trampolines(t) {
		return
	}
	p := startChild(t, "fallocating")
	o := functionsOf(p.PID(), "")
	o.Stack = attach.MaxStack
	s, err := attach.Open(t.Context(), []string{"fentry:vfs_fallocate", "fexit:vfs_fallocate"}, o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const calls = 5
	p.Do(fmt.Sprint(calls, " 4096"))
	events := drain(t, s)
	if len(events) != 2*calls {
		t.Errorf("%d events, want %d", len(events), 2*calls)
	}
	for _, ev := range events {
		frames := ev.Stack.Frames()
		kernel, at := 0, -1
		for kernel < len(frames) && frames[kernel].Kernel() {
			if strings.Contains(frames[kernel].Func, "fallocate") {
				at = kernel
			}
			kernel++
		}
		if at < 0 || kernel == len(frames) || frames[len(frames)-1].Func != "runtime.goexit" {
			t.Errorf("%v: %v, %v", ev.Probe.Kind, frames, ev.Stack.Err)
		}
	}
}
