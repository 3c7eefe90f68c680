package attach_test

import (
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/reader"
)

// build runs a compiler on a file of testdata and returns the program's path.
func build(t testing.TB, source string, command ...string) string {
	t.Helper()
	if _, err := exec.LookPath(command[0]); err != nil {
		needs.Skip(t, "needs %s: %v", command[0], err)
	}
	out := filepath.Join(t.TempDir(), "functions")
	cmd := exec.Command(command[0], append(command[1:], "-o", out, "./testdata/"+source)...)
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, msg)
	}
	return out
}

// named returns arguments from pairs of a name and a value.
func named(pairs ...any) []arg {
	var out []arg
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, arg{Name: pairs[i].(string), Value: pairs[i+1]})
	}
	return out
}

// byName returns the arguments of events by the name of the function, followed by
// "()" for returns.
func byName(events []event.Event) map[string][][]arg {
	got := map[string][][]arg{}
	for _, ev := range events {
		name := ev.Name
		if ev.Probe.Kind == reader.Uretprobe {
			name += "()"
		}
		got[name] = append(got[name], argsOf(ev))
	}
	return got
}

func openAll(t testing.TB, opts *attach.Options, selectors ...string) *attach.Session {
	t.Helper()
	s, err := attach.Open(t.Context(), selectors, opts)
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestFunctions(t *testing.T) {
	for _, test := range []struct {
		name    string
		command []string
		kind    attach.LinkKind
		bits    int
	}{
		{"gcc", []string{"gcc", "-O2"}, attach.AutoLink, 64},
		{"clang", []string{"clang", "-O1", "-no-pie"}, attach.AutoLink, 64},
		{"perf", []string{"gcc", "-O0"}, attach.PerfLink, 64},
		{"i386", needs.I386, attach.AutoLink, 32},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.bits == 32 && runtime.GOARCH != "amd64" {
				t.Skip("the program is for x86-64")
			}
			path := build(t, "functions.c", test.command...)
			if test.bits == 32 {
				needs.Runs32Bit(t, path)
			}
			p := start(t, exec.Command(path))
			s := openAll(t, &attach.Options{
				Args:    []string{"arg0", "arg7", "arg2"},
				Strings: []string{"functions:length:arg0"},
				Link:    test.kind,
			}, "uprobe:"+path+":sum8", "uprobe:"+path+":length", "uretprobe:"+path+":*")
			want := p.Do("")
			if want != "20 -5 6 120 p" {
				t.Fatalf("the program returned %q", want)
			}
			events := drain(t, s)
			got := byName(events)
			word := func(v int64) any {
				if test.bits == 32 {
					return uint64(uint32(v))
				}
				return v
			}
			if d := cmp.Diff([][]arg{named("arg0", word(1), "arg7", word(-8), "arg2", word(3))}, got["sum8"]); d != "" {
				t.Errorf("arguments of sum8 (-want +got):\n%s", d)
			}
			if len(got["length"]) != 1 || got["length"][0][0].Value != "héllo" {
				t.Errorf("arguments of length: %v", got["length"])
			}
			// The probes saw what it printed.
			text := got["length()"][0][0].Value
			returned := fmt.Sprint(got["sum8()"][0][0].Value, got["negative()"][0][0].Value, text, got["factorial()"][4][0].Value)
			if returned+" p" != want {
				t.Errorf("functions returned %s p, want %s", returned, want)
			}
			var factorials []any
			for _, args := range got["factorial()"] {
				factorials = append(factorials, args[0].Value)
			}
			if d := cmp.Diff([]any{int64(1), int64(2), int64(6), int64(24), int64(120)}, factorials); d != "" {
				t.Errorf("results of a function that calls itself (-want +got):\n%s", d)
			}
			if ev := events[0]; ev.Provider != "functions" || ev.PID != p.PID() {
				t.Errorf("event %+v", ev)
			}
			checkSum(t, s)
		})
	}
}

// TestFunctionText follows results and arguments to text where an option asks for
// it, and tests conditions on them, also on arguments that events do not hold.
func TestFunctionText(t *testing.T) {
	path := build(t, "functions.c", "gcc", "-O2")
	p := start(t, exec.Command(path))
	s := open(t, "uretprobe:"+path+":word", &attach.Options{Strings: []string{"retval"}, Where: `retval ~ "pos*"`})
	none := open(t, "uprobe:"+path+":length", &attach.Options{Where: `arg0 == "hello"`})
	far := open(t, "uprobe:"+path+":sum8", &attach.Options{Args: []string{"none"}, Where: "arg7 < 0 && arg6 == 7"})
	p.Do("")
	if got := byName(drain(t, s)); cmp.Diff(map[string][][]arg{"word()": {named("retval", "positive")}}, got) != "" {
		t.Errorf("got %v", got)
	}
	if got := drain(t, none); len(got) != 0 {
		t.Errorf("got %v of which the condition does not hold", got)
	}
	if got := byName(drain(t, far)); cmp.Diff(map[string][][]arg{"sum8": {nil}}, got) != "" {
		t.Errorf("got %v", got)
	}

	ints := open(t, "uretprobe:"+path+":small", &attach.Options{Args: []string{"retval:int32"}, Where: "retval < 0 && retval > -10"})
	entries := open(t, "uprobe:"+path+":sum8", &attach.Options{Args: []string{"arg0:uint8", "arg7:int16"}, Where: "arg7 < 0 && arg0 == 1"})
	p.Do("")
	if d := cmp.Diff(map[string][][]arg{"small()": {named("retval", int64(-6))}}, byName(drain(t, ints))); d != "" {
		t.Errorf("a result that is an int (-want +got):\n%s", d)
	}
	if d := cmp.Diff(map[string][][]arg{"sum8": {named("arg0", uint64(1), "arg7", int64(-8))}}, byName(drain(t, entries))); d != "" {
		t.Errorf("arguments with types (-want +got):\n%s", d)
	}

	_, err := attach.Open(t.Context(), []string{"uprobe:" + path + ":sum8"}, &attach.Options{Where: "retval == 0"})
	var where *attach.WhereError
	if !errors.As(err, &where) || !strings.Contains(err.Error(), "uprobe:functions:sum8 has no argument retval") {
		t.Errorf("a condition on the result at the entry: %v", err)
	}
	for _, wrong := range []string{"a", "arg", "arg01", "arg0:", "arg0:int", "none", ""} {
		if _, err := attach.Open(t.Context(), []string{"uprobe:" + path + ":sum8"}, &attach.Options{Args: []string{"arg0", wrong}}); err == nil || !strings.Contains(err.Error(), "arg0") {
			t.Errorf("argument %q: error %v", wrong, err)
		}
	}
}

func TestFunctionAggregate(t *testing.T) {
	path := build(t, "functions.c", "gcc", "-O2")
	p := start(t, exec.Command(path))
	a := openAggregate(t, []string{"uprobe:" + path + ":sum8", "uprobe:" + path + ":fact*", "uretprobe:" + path + ":fact*"},
		attach.Count().By("probe"), nil)
	byArgument := openAggregate(t, []string{"uprobe:" + path + ":sum8"}, attach.Sum("arg6").By("arg7"), nil)
	latency, err := attach.OpenLatency(t.Context(), "uprobe:"+path+":sum8", "uretprobe:"+path+":__sum_alias", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer latency.Close()
	const calls = 3
	for range calls {
		p.Do("")
	}
	groups, err := a.Read()
	if err != nil {
		t.Fatal(err)
	}
	got := map[any]uint64{}
	for _, g := range groups {
		got[g.By[0].Value] = g.Count
	}
	want := map[any]uint64{"uprobe:functions:sum8": calls, "uprobe:functions:factorial": 5 * calls, "uretprobe:functions:factorial": 5 * calls}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("counts (-want +got):\n%s", d)
	}
	groups, err = byArgument.Read()
	if err != nil || len(groups) != 1 || groups[0].By[0].Value != int64(-8) || groups[0].Sum != int64(7*calls) {
		t.Errorf("by an argument on the stack: %+v, %v", groups, err)
	}
	groups, err = latency.Read()
	if err != nil || len(groups) != 1 || groups[0].Count != calls {
		t.Errorf("latency of a function: %+v, %v", groups, err)
	}
}

// TestFunctionLibrary traces a function of a library, which is named as programs
// name it.
func TestFunctionLibrary(t *testing.T) {
	path := build(t, "functions.c", "gcc", "-O2")
	p := start(t, exec.Command(path))
	for _, pids := range [][]int{nil, {p.PID()}} {
		s := openAll(t, &attach.Options{Target: attach.Target{PIDs: pids}, Where: fmt.Sprintf("pid == %d", p.PID())}, "uprobe:libc.so.6:getppid", "uretprobe:libc.so.6:getppid")
		p.Do("")
		got := byName(drain(t, s))
		if len(got["getppid"]) != 1 || len(got["getppid"][0]) == 0 {
			t.Errorf("pids %v: calls %v", pids, got["getppid"])
		}
		if d := cmp.Diff([][]arg{named("retval", int64(os.Getpid()))}, got["getppid()"]); d != "" {
			t.Errorf("pids %v: returns (-want +got):\n%s", pids, d)
		}
	}
}

// TestFunctionSitesAfterwards checks that Close restores the code, as soon as the
// kernel has removed what perf events put there.
func TestFunctionSitesAfterwards(t *testing.T) {
	path := build(t, "functions.c", "gcc", "-O2", "-no-pie")
	p := start(t, exec.Command(path))
	s := open(t, "uretprobe:"+path+":sum8", nil)
	at := int64(s.Plan()[0].Probe.Location)
	read := func() byte {
		mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", p.PID()))
		if err != nil {
			t.Fatal(err)
		}
		defer mem.Close()
		var b [1]byte
		if _, err := mem.ReadAt(b[:], at); err != nil {
			t.Fatal(err)
		}
		return b[0]
	}
	traced := read()
	if err := errors.Join(s.Close(), s.Wait(t.Context())); err != nil {
		t.Fatal(err)
	}
	if after := read(); after == traced {
		t.Errorf("the code is %#x with a probe and %#x after it", traced, after)
	}
	p.Do("")
}

// factorials compiles testdata/functions.c for an example, and returns its path.
func factorials() (path string, remove func()) {
	dir, err := os.MkdirTemp("", "factorials")
	if err != nil {
		log.Print(err)
		return "", func() {}
	}
	path = filepath.Join(dir, "factorials")
	if out, err := exec.Command("gcc", "-O1", "-o", path, "./testdata/functions.c").CombinedOutput(); err != nil {
		log.Printf("%v: %s", err, out)
	}
	return path, func() { os.RemoveAll(dir) }
}
