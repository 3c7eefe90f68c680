package attach_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/systest/live"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// compile compiles testdata/args.c and returns the program's path.
func compile(t testing.TB, command ...string) string {
	t.Helper()
	return compileC(t, "args", command...)
}

// compileC compiles testdata/NAME.c and returns the program's path.
func compileC(t testing.TB, name string, command ...string) string {
	t.Helper()
	return needs.Compile(t, "testdata/"+name+".c", command...)
}

// wantC are the arguments that testdata/args.c fires, by probe.
func wantC(bits int) map[string][]arg {
	u, s := func(v uint64) any { return v }, func(v int64) any { return v }
	word := func(v int64) any { return v }
	want := map[string][]arg{
		"ints":   number(s(-8), u(200), s(-1600), u(60000), s(-320000), u(4000000000), s(-64000000000), u(0xfedcba9876543210)),
		"consts": number(s(-9), u(math.MaxUint32), s(math.MaxInt64), u(255)),
		"memory": number(s(-20), s('b'), s(30)),
		"global": number(s(-77), s(-2), u(4242)),
		"text":   number("h\xc3\xa9llo", nil, word(1)),
		"floats": number(2.5, -0.25),
		"bare":   nil,
	}
	want["text"][1].Err = event.ErrFault.Error()
	if bits == 32 {
		want["ints"] = want["ints"][:6]
		delete(want, "floats")
	}
	return want
}

func number(values ...any) []arg {
	var out []arg
	for i, v := range values {
		out = append(out, arg{Name: fmt.Sprintf("arg%d", i), Value: v})
	}
	return out
}

func TestC(t *testing.T) {
	for _, test := range []struct {
		command []string
		kind    attach.LinkKind
		bits    int
	}{
		{[]string{"gcc", "-O0"}, attach.AutoLink, 64},
		{[]string{"gcc", "-O2"}, attach.AutoLink, 64},
		{[]string{"gcc", "-O2"}, attach.PerfLink, 64},
		{[]string{"gcc", "-O2", "-DSEMAPHORES"}, attach.AutoLink, 64},
		{[]string{"gcc", "-O2", "-no-pie", "-DSEMAPHORES"}, attach.PerfLink, 64},
		{[]string{"gcc", "-O2", "-fPIC", "-pie"}, attach.AutoLink, 64},
		{[]string{"clang", "-O0"}, attach.AutoLink, 64},
		{[]string{"clang", "-O2", "-DSEMAPHORES"}, attach.AutoLink, 64},
		{needs.I386, attach.AutoLink, 32},
		{append(needs.I386, "-DSEMAPHORES"), attach.PerfLink, 32},
	} {
		t.Run(strings.Join(test.command[:2], "")+fmt.Sprint(test.bits)+test.kind.String(), func(t *testing.T) {
			path := compile(t, test.command...)
			p := start(t, exec.Command(path))
			want := wantC(test.bits)
			s := open(t, path+":args:*", &attach.Options{Link: test.kind, Strings: []string{"args:text:arg0", "args:text:arg1"}})
			if got := s.Plan().Attached(); got != len(want) {
				t.Errorf("attached %d sites, want %d: %+v", got, len(want), s.Plan())
			}
			p.Do("")
			got := map[string][]arg{}
			for _, ev := range drain(t, s) {
				got[ev.Name] = argsOf(ev)
				if ev.PID != p.PID() || ev.Comm != "args" {
					t.Errorf("event of %d %q, want %d \"args\"", ev.PID, ev.Comm, p.PID())
				}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("events (-want +got):\n%s", d)
			}
			if st := checkSum(t, s); st.Fired != uint64(len(want)) {
				t.Errorf("stats %+v, want %d fired", st, len(want))
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			p.Do("") // unharmed
		})
	}
}

// TestSites checks that Close restores a site and its semaphore.
func TestSites(t *testing.T) {
	for _, kind := range []attach.LinkKind{attach.AutoLink, attach.PerfLink} {
		t.Run(kind.String(), func(t *testing.T) {
			path := compile(t, "gcc", "-O2", "-DSEMAPHORES")
			p := start(t, exec.Command(path))
			p.Do("") // now the dynamic linker has finished
			live.Check(t, p.PID(), "args:bare", 0x90, 0)
			s := open(t, "args:bare", &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Link: kind})
			live.Check(t, p.PID(), "args:bare", 0xcc, 1)
			p.Do("")
			if n := len(drain(t, s)); n != 1 {
				t.Errorf("got %d events, want 1", n)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if err := s.Wait(t.Context()); err != nil {
				t.Error(err)
			}
			live.Check(t, p.PID(), "args:bare", 0x90, 0)
			if err := s.Close(); err != nil {
				t.Errorf("second Close: %v", err)
			}
		})
	}
}

// TestProcessEnd checks that a session ends with its processes.
func TestProcessEnd(t *testing.T) {
	path := compile(t, "gcc", "-O2")
	p, q := start(t, exec.Command(path)), start(t, exec.Command(path))
	s := open(t, "args:bare", &attach.Options{Target: attach.Target{PIDs: []int{p.PID(), q.PID()}}})
	if got := s.Plan().Attached(); got != 2 {
		t.Errorf("attached %d sites, want one per process", got)
	}
	other := start(t, exec.Command(path))
	other.Do("")
	p.Do("")
	q.Do("")
	if err := errors.Join(p.End(), q.End()); err != nil {
		t.Error(err)
	}
	var pids []int
	for ev, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, ev.PID)
	}
	if d := cmp.Diff([]int{p.PID(), q.PID()}, pids); d != "" {
		t.Errorf("events of processes (-want +got):\n%s", d)
	}
	_, err := attach.Open(t.Context(), []string{"args:bare"}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("attach to a dead process: error %v, want one that wraps os.ErrNotExist", err)
	}
}

func TestNoMatch(t *testing.T) {
	path := compile(t, "gcc", "-O2")
	for _, sel := range []string{path + ":args:none", "nobody_has_this:*"} {
		if _, err := attach.Open(t.Context(), []string{sel}, nil); !errors.Is(err, attach.ErrNoMatch) {
			t.Errorf("open %s: error %v, want one that wraps ErrNoMatch", sel, err)
		}
	}
	if _, err := attach.Open(t.Context(), []string{path + ":args:in-ts"}, nil); err == nil || !strings.Contains(err.Error(), ", but "+path+":args:ints would") {
		t.Errorf("error %v, want one that knows the probe meant", err)
	}
}
