package attach_test

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
)

func TestFunctionsCpp(t *testing.T) {
	path := build(t, "functions.cc", "g++", "-O0")
	p := start(t, exec.Command(path))
	s := openAll(t, &attach.Options{Args: []string{"arg1"}}, "uprobe:"+path+":std::vector<*>::push_back*", "uprobe:"+path+":parser::parse")
	p.Do("")
	got := byName(drain(t, s))
	parses := [][]arg{named("arg1", int64(0)), named("arg1", int64(1)), named("arg1", int64(2))}
	if d := cmp.Diff(parses, got["parser::parse(long)"]); d != "" {
		t.Errorf("calls of a method (-want +got):\n%s", d)
	}
	pushed := map[string]int{}
	for name, events := range got {
		if kind, _, ok := strings.Cut(strings.TrimPrefix(name, "std::vector<"), ","); ok {
			pushed[kind] += len(events)
		}
	}
	if d := cmp.Diff(map[string]int{"int": 3, "double": 1}, pushed); d != "" {
		t.Errorf("calls by type (-want +got):\n%s\n%v", d, got)
	}

	if _, err := attach.Open(t.Context(), []string{"uretprobe:libstdc++.so.6:__cxa_throw"}, nil); !errors.Is(err, attach.ErrUnsafe) {
		t.Errorf("returns from what throws: %v", err)
	}
	// The exception passes through the function, whose return instruction does not see it.
	s = open(t, "uretprobe:"+path+":parser::parse", nil)
	p.Do("")
	if got := byName(drain(t, s))["parser::parse(long)()"]; len(got) != 2 {
		t.Errorf("returns besides the exception: %v", got)
	}

	path = build(t, "functions.cc", "g++", "-O0", "-fno-exceptions")
	p = start(t, exec.Command(path))
	s = open(t, "uretprobe:"+path+":parser::parse", nil)
	want := p.Do("")
	sum := int64(0)
	for _, ev := range drain(t, s) {
		sum += ev.Args[0].Value.(int64)
	}
	if fmt.Sprint(sum) != want {
		t.Errorf("sum of results %d, the program says %s", sum, want)
	}
}

func TestFunctionsGo(t *testing.T) {
	for _, flags := range []string{"", "-s -w"} {
		t.Run("ldflags="+flags, func(t *testing.T) {
			path := build(t, "gofunctions", "go", "build", "-ldflags="+flags)
			p := start(t, exec.Command(path))
			s := open(t, "uprobe:"+path+":main.work", &attach.Options{Strings: []string{"arg1"}, Where: "arg0 == 1"})
			byText := open(t, "uprobe:"+path+":main.work", &attach.Options{Args: []string{"arg0"}, Where: `arg1 ~ "/in*" && arg1 != "/in"`})
			if got := p.Do("/index"); got != "38" {
				t.Fatalf("the program returned %s", got)
			}
			events := drain(t, s)
			if len(events) != 1 {
				t.Fatalf("%d events, want one", len(events))
			}
			if got := drain(t, byText); len(got) != 1 {
				t.Errorf("%d events by a condition on text, want one", len(got))
			}
			got := argsOf(events[0])
			// A string is a pointer and a length.
			want := named("arg1", "/index", "arg2", int64(6), "arg3", int64(-2), "arg4", int64(3), "arg5", int64(4), "arg6", int64(5), "arg7", int64(6), "arg8", int64(7))
			n := map[string]int{"amd64": 9, "arm64": 16}[runtime.GOARCH]
			if flags == "" { // debugging information names them
				want = named("path", "/index", "b", int64(-2), "c", int64(3), "d", int64(4), "e", int64(5), "f", int64(6), "g", int64(7), "h", int64(8))
				n = 10
			}
			if len(got) != n || len(n9(got)) != 9 {
				t.Fatalf("%d arguments, want %d", len(got), n)
			}
			if d := cmp.Diff(want, n9(got)[1:]); d != "" {
				t.Errorf("arguments (-want +got):\n%s", d)
			}
			// The stack grows while it calls itself, and each time it begins anew.
			s = open(t, "uprobe:"+path+":main.grow", nil)
			p.Do("")
			if got := len(drain(t, s)); got != 101 {
				t.Errorf("%d events of 101 calls that need a larger stack", got)
			}
			s = open(t, "uretprobe:"+path+":main.work", &attach.Options{Where: "retval == 40"})
			if got := p.Do("unharmed"); got != "40" || len(drain(t, s)) != 1 {
				t.Errorf("the program returned %s, and its return was not seen once", got)
			}
		})
	}
}

// n9 returns the first nine arguments.
func n9(args []arg) []arg { return args[:min(9, len(args))] }
