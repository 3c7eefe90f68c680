package attach_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/internal/tracepoint"
	"github.com/go-usdt/usdt/provider"
)

func init() {
	// calling makes system calls in one thread: "mkdir N" N of mkdirat in a directory that does not exist,
	// each behind its probe, "rename NAME" names the thread, "listen" has a socket listen, and "exec" executes the program again, which goes
	// on with the next command.
	roles["calling"] = func([]string) error {
		runtime.LockOSThread()
		calls := provider.New("calling", nil)
		called := provider.NewProbe1[int](calls, "called", "n")
		if err := calls.Load(); err != nil {
			return err
		}
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			command, argument, _ := strings.Cut(in.Text(), " ")
			var n int
			fmt.Sscan(argument, &n)
			switch command {
			case "mkdir":
				for i := range n {
					called.Fire(i)
					if err := unix.Mkdirat(unix.AT_FDCWD, fmt.Sprintf("/none/%d", i), 0o700+uint32(i)); !errors.Is(err, unix.ENOENT) {
						return fmt.Errorf("mkdirat: %v", err)
					}
				}
			case "rename":
				name := append([]byte(argument), 0)
				if err := unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&name[0])), 0, 0, 0); err != nil {
					return err
				}
			case "listen":
				fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
				if err == nil {
					err = errors.Join(unix.Listen(fd, 1), unix.Close(fd))
				}
				if err != nil {
					return err
				}
			case "exec":
				fmt.Println("done")
				again := tracee.Self("calling")
				return unix.Exec("/proc/self/exe", again.Args, again.Env)
			}
			fmt.Println("done")
		}
		return nil
	}
}

// fieldsOf returns the values of an event by name, and reports which could not be read.
func fieldsOf(t *testing.T, ev *event.Event) map[string]any {
	t.Helper()
	args := map[string]any{}
	for _, a := range ev.Args {
		if a.Err != nil {
			t.Errorf("%s of %s: %v", a.Name, ev.Name, a.Err)
		}
		args[a.Name] = a.Value
	}
	return args
}

// TestTracepoints counts events of the kernel that a program's system calls make, and reads their fields: numbers,
// text that the program has, text in the record, and text elsewhere in it. Another process makes such calls as
// well.
func TestTracepoints(t *testing.T) {
	needs.Tracepoints(t)
	p, other := startChild(t, "calling"), startChild(t, "calling")
	p.Do("nothing") // it has its probe now
	s, err := attach.Open(t.Context(), []string{
		"tracepoint:syscalls:sys_enter_mkdira?", "tracepoint:sys*:sys_exit_mkdirat", "tracepoint:task:task_rename", "tracepoint:sched:sched_process_exec", "calling:called",
	}, functionsOf(p.PID(), ""))
	needPrivileges(t, err)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	counts, err := attach.OpenAggregate(t.Context(), []string{"tracepoint:syscalls:sys_enter_mkdirat"}, attach.Count().By("probe", "pathname"), functionsOf(p.PID(), `mode >= 0701 && pathname != "/none/2" && dfd == -100`))
	if err != nil {
		t.Fatal(err)
	}
	defer counts.Close()
	const calls = 12
	other.Do("mkdir 7")
	other.Do("rename other")
	p.Do(fmt.Sprint("mkdir ", calls))
	p.Do("rename renamed-once")
	p.Do("exec")
	p.Do("nothing")
	other.Do("mkdir 7")
	groups, err := counts.Read()
	if err != nil {
		t.Fatal(err)
	}
	for i := range groups {
		if g := &groups[i]; g.Count != 1 || g.By[0].Value != "tracepoint:syscalls:sys_enter_mkdirat" || g.By[1].Value == "/none/0" || g.By[1].Value == "/none/2" {
			t.Errorf("group %+v", g)
		}
	}
	if len(groups) != calls-2 {
		t.Errorf("%d groups, want %d", len(groups), calls-2)
	}
	var seen []string
	events := drain(t, s)
	var tid int // of the one thread that makes the calls: not always the first
	for _, ev := range events {
		args := fieldsOf(t, &ev)
		if ev.PID != p.PID() {
			t.Errorf("event %+v of process %d, want one of %d", ev, ev.PID, p.PID())
		}
		switch ev.Name {
		case "called":
			tid = ev.TID
			seen = append(seen, fmt.Sprint(ev.Name, args["n"]))
		case "sys_enter_mkdirat":
			mode, _ := args["mode"].(uint64)
			seen = append(seen, fmt.Sprintf("%v %v %d", args["dfd"], args["pathname"], mode-0o700))
		case "sys_exit_mkdirat":
			seen = append(seen, fmt.Sprint("ret ", args["ret"]))
		case "task_rename":
			if args["newcomm"] == "renamed-once" { // and not for what is executed
				seen = append(seen, fmt.Sprint("renamed ", args["oldcomm"] != args["newcomm"]))
			}
		case "sched_process_exec":
			seen = append(seen, fmt.Sprint("exec ", args["filename"], " ", args["pid"] == int64(p.PID()), " ", args["old_pid"] == int64(tid)))
		}
	}
	var want []string
	for i := range calls {
		want = append(want, fmt.Sprint("called", i), fmt.Sprintf("-100 /none/%d %d", i, i), fmt.Sprintf("ret %d", -int64(unix.ENOENT)))
	}
	want = append(want, "renamed true", "exec /proc/self/exe true true")
	if len(seen) != len(want) {
		t.Fatalf("events %q, want %q", seen, want)
	}
	for i := range want {
		if seen[i] != want[i] {
			t.Errorf("event %d is %q, want %q", i, seen[i], want[i])
		}
	}
	st := checkSum(t, s)
	if st.Received != uint64(len(events)) || st.Lost+st.Missed+st.Filtered != 0 {
		t.Errorf("stats %+v", st)
	}
	for i, site := range s.Plan() {
		if !site.Attached {
			t.Errorf("site %d: %v", i, site.Reason)
		}
	}
}

// TestTracepointLatency matches system calls' entries and ends, by thread and beside a probe of the program, and
// reads their stacks.
func TestTracepointLatency(t *testing.T) {
	needs.Tracepoints(t)
	p := startChild(t, "calling")
	p.Do("nothing") // it has its probe now
	const enter, exit = "tracepoint:syscalls:sys_enter_mkdirat", "tracepoint:syscalls:sys_exit_mkdirat"
	l, err := attach.OpenLatency(t.Context(), enter, exit, &attach.LatencyOptions{By: []string{"mode"}}, functionsOf(p.PID(), "ret < 0"))
	needPrivileges(t, err)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	spans, err := attach.OpenLatency(t.Context(), "calling:called", exit, &attach.LatencyOptions{Key: []string{"tid"}}, functionsOf(p.PID(), ""))
	if err != nil {
		t.Fatal(err)
	}
	defer spans.Close()
	stacked := functionsOf(p.PID(), "")
	stacked.Stack = 32
	stacked.Args = []string{"pathname"}
	s, err := attach.Open(t.Context(), []string{enter}, stacked)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const calls = 40
	p.Do(fmt.Sprint("mkdir ", calls))
	for name, l := range map[string]*attach.Latency{"calls": l, "spans": spans} {
		pairs, err := l.Pairs()
		if err != nil || pairs.Pairs != calls || pairs.Pending != 0 || pairs.Unstarted != 0 {
			t.Errorf("%s: %+v, error %v; want %d pairs", name, pairs, err, calls)
		}
	}
	groups, err := l.Read()
	if err != nil || len(groups) != calls || groups[0].Count != 1 {
		t.Errorf("%d groups, error %v", len(groups), err)
	}
	events := drain(t, s)
	if len(events) != calls {
		t.Errorf("%d events, want %d", len(events), calls)
	}
	for _, ev := range events {
		if len(ev.Args) != 1 || ev.Args[0].Name != "pathname" || ev.Stack == nil || len(ev.Stack.PCs) < 3 {
			t.Fatalf("event %+v, want one argument and a stack", ev)
		}
	}
}

// TestTracepointRefused checks what is said of tracepoints that cannot be traced, and of fields that events lack.
func TestTracepointRefused(t *testing.T) {
	needs.Tracepoints(t)
	open := func(o *attach.Options, selectors ...string) (*attach.Session, error) {
		s, err := attach.Open(t.Context(), selectors, o)
		if err == nil {
			t.Cleanup(func() { s.Close() })
		}
		return s, err
	}
	_, err := open(functionsOf(os.Getpid(), ""), "tracepoint:syscalls:sys_enter_mkdirat")
	needPrivileges(t, err)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ selector, where, want string }{
		{"tracepoint:sched:sched_swich", "", "no probe matches tracepoint:sched:sched_swich in the kernel, but tracepoint:sched:sched_switch would"},
		{"tracepoint:shed:*", "", "in the kernel, but 'tracepoint:sched:*' would"},
		{"tracepoint:shed:zzz*", "", "there is no system shed; the nearest is sched"},
		{"tracepoint:sched:zzz*", "", "the system has no such event, or its module is not loaded"},
		{"tracepoint:rc?:*", "", "name their system exactly"},
		{"tracepoint:syscalls:sys_enter_mkdirat", "size > 1", "sys_enter_mkdirat has no argument size: it has dfd, pathname, mode"},
		{"tracepoint:syscalls:sys_enter_mkdirat", "retval > 1", "has no argument retval"},
	} {
		_, err := open(functionsOf(os.Getpid(), c.where), c.selector)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: error %v, want %q", c.selector, c.where, err, c.want)
		}
	}
	lacking := functionsOf(os.Getpid(), "")
	lacking.Args = []string{"pathnam"}
	if _, err := open(lacking, "tracepoint:syscalls:sys_enter_mkdirat"); err == nil || !strings.Contains(err.Error(), "the nearest is pathname") {
		t.Errorf("a field that it lacks: %v", err)
	}
}

// TestTracepointMembers reads what is behind a pointer in a record that was given a type of the kernel, and compares
// it with a field.
func TestTracepointMembers(t *testing.T) {
	needs.Tracepoints(t)
	p := startChild(t, "calling")
	const event, member = "tracepoint:sock:inet_sock_set_state", "sock.__sk_common.skc_family"
	o := functionsOf(p.PID(), member+" == 2")
	o.Args = []string{"skaddr:struct sock*", "family", member}
	s, err := attach.Open(t.Context(), []string{event}, o)
	needPrivileges(t, err)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	by := functionsOf(p.PID(), `newstate == "TCP_LISTEN"`)
	by.Args = []string{"skaddr:struct sock *listener"}
	groups, err := attach.OpenAggregate(t.Context(), []string{event}, attach.Count().By("listener.__sk_common.skc_family", "family"), by)
	if err != nil {
		t.Fatal(err)
	}
	defer groups.Close()
	p.Do("listen")
	got, err := groups.Read()
	if err != nil || len(got) != 1 || got[0].Count != 1 || fmt.Sprint(got[0].By[0].Value, got[0].By[1].Value) != "2 2" {
		t.Errorf("groups %+v, error %v", got, err)
	}
	events := drain(t, s)
	if len(events) != 2 { // it also ends
		t.Errorf("%d events, want 2", len(events))
	}
	for _, ev := range events {
		if args := fieldsOf(t, &ev); len(args) != 3 || args["family"] != uint64(unix.AF_INET) || args[member] != uint64(unix.AF_INET) || args["skaddr"].(uint64)>>63 == 0 {
			t.Errorf("arguments %v", args)
		}
	}
	for _, c := range []struct{ args, follow, want string }{
		{"skaddr:struct sock*,sock.none", "", "sock has no member none"},
		{"skaddr:struct sok*,sok.x", "", "the kernel's types do not say what is in it"},
		{"sport:struct sock*", "", "has no pointer sport"},
		{"", "skaddr.x", "the kernel's types do not say what is in it"},
		{"", "sport.x", "it has no such argument"},
	} {
		o := functionsOf(p.PID(), "")
		if c.args != "" {
			o.Args = strings.Split(c.args, ",")
		}
		if c.follow != "" {
			o.Follow = []string{c.follow}
		}
		s, err := attach.Open(t.Context(), []string{event}, o)
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: error %v, want %q", c.args, c.follow, err, c.want)
		}
	}
}

// TestTracepointMissed has more tasks than processors make a system call, and compares what became of each:
// kernels that preempt programs leave out tasks that run into the program of a preempted one, and count them.
func TestTracepointMissed(t *testing.T) {
	needs.Tracepoints(t)
	compareMissed(t, "calling", "mkdir 2000", "tracepoint:syscalls:sys_enter_mkdirat", "tracepoint:syscalls:sys_exit_mkdirat", "")
}

// TestTracepointPrivileges checks which capabilities tracepoints take, and that the error names them.
func TestTracepointPrivileges(t *testing.T) {
	needs.Root(t)
	needs.Tracepoints(t)
	paranoid, err := os.ReadFile("/proc/sys/kernel/perf_event_paranoid")
	if err != nil {
		t.Fatal(err)
	}
	usually := ""
	if strings.TrimSpace(string(paranoid)) == "3" { // of Debian's own
		usually = "[CAP_SYS_ADMIN]"
	}
	for name, c := range map[string]struct {
		has     []uintptr
		missing string // "" if nothing is
	}{
		"enough":     {[]uintptr{unix.CAP_BPF, unix.CAP_PERFMON, unix.CAP_DAC_READ_SEARCH, unix.CAP_SYS_ADMIN}, ""},
		"usual":      {[]uintptr{unix.CAP_BPF, unix.CAP_PERFMON, unix.CAP_DAC_READ_SEARCH}, usually},
		"no tracefs": {[]uintptr{unix.CAP_BPF, unix.CAP_PERFMON}, "[CAP_DAC_READ_SEARCH]"},
		"none":       {nil, "[CAP_BPF CAP_PERFMON CAP_DAC_READ_SEARCH]"},
		"no BPF":     {[]uintptr{unix.CAP_PERFMON, unix.CAP_DAC_READ_SEARCH}, "[CAP_BPF]"},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, become(t, tracee.Self("calling"), nobody))
			tracer := start(t, become(t, tracee.Self("open"), nobody, c.has...))
			tracer.Send("%d tracepoint:syscalls:sys_enter_mkdirat false", p.PID())
			_, err := tracer.Next()
			ended := tracer.End()
			switch {
			case c.missing == "" && err != nil:
				t.Errorf("cannot trace: %v", ended)
			case c.missing != "" && err == nil:
				t.Errorf("can trace without %s", c.missing)
			case c.missing != "" && (ended == nil || !strings.Contains(ended.Error(), "lacks "+c.missing+":")):
				t.Errorf("got %v, want that it lacks %s", ended, c.missing)
			}
		})
	}
}

// TestEveryTracepoint reads the formats of all tracepoints of the running kernel: each is understood, and says of
// the few fields that are no numbers why they have no values.
func TestEveryTracepoint(t *testing.T) {
	needs.Tracepoints(t)
	plan, err := attach.Find(t.Context(), []string{"tracepoint:*:*"}, nil)
	needPrivileges(t, err)
	if err != nil {
		t.Fatal(err)
	}
	refused, fields, lacking := 0, 0, 0
	for i := range plan {
		p := &plan[i].Probe
		if err := plan[i].Reason; errors.Is(err, tracepoint.ErrFormat) {
			t.Errorf("%s:%s: %v", p.Provider, p.Name, err)
		} else if err != nil {
			refused++
		}
		for j := range p.Kernel.Fields {
			fields++
			if f := &p.Kernel.Fields[j]; f.Err != nil {
				lacking++
			}
		}
	}
	if len(plan) < 500 || refused*10 > len(plan) || lacking*50 > fields {
		t.Errorf("of %d tracepoints %d are refused, and %d of %d fields have no values", len(plan), refused, lacking, fields)
	}
}
