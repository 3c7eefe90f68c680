package attach_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/symbols"
)

// call is a frame as the runtime and package symbols both know it.
type call struct {
	Func, File string
	Line       int
}

// callsOf returns the frames of a stack.
func callsOf(s *event.Stack) (calls []call) {
	for _, f := range s.Frames() {
		calls = append(calls, call{f.Func, f.File, f.Line})
	}
	return calls
}

// ownCalls returns the calls that led here.
func ownCalls() (calls []call) {
	var pcs [200]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		calls = append(calls, call{f.Function, f.File, f.Line})
	}
	return calls
}

// stackRecord is a struct that a probe passes.
type stackRecord struct {
	N    int
	Text string
	Next *stackRecord
}

// stackOfGo declares probes of each form of arguments. Its function fires them in a
// goroutine of its own, inlined functions and deep recursion between, and returns the
// calls that led to each.
func stackOfGo(t testing.TB) (fire func() [][]call) {
	p := provider.New("stackgo", &provider.Options{Local: true})
	t.Cleanup(func() { p.Close() })
	none := provider.NewProbe0(p, "a_none")
	number := provider.NewProbe1[int](p, "b_number", "n")
	mixed := provider.NewProbe4[uint8, string, float64, []byte](p, "c_mixed", "n", "text", "f", "bytes")
	text := provider.NewProbe2[string, provider.Text](p, "d_text", "text", "err")
	record := provider.NewStructProbe[stackRecord](p, "e_record")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	var calls [][]call
	here := func() {
		of := ownCalls()[1:] // without this function
		calls = append(calls, of)
	}
	var deep func(n int)
	deep = func(n int) {
		if n > 0 {
			deep(n - 1)
			return
		}
		inlined(here, number.Fire)
	}
	return func() [][]call {
		calls = nil
		done := make(chan struct{})
		go func() {
			defer close(done)
			here()
			none.Fire()
			inlined(here, number.Fire)
			deep(60)
			here()
			mixed.Fire(1, strings.Repeat("long ", 100), 1.5, []byte("bytes"))
			func() {
				defer func() {
					recover()
					here()
					text.Fire("after a panic", provider.Error(errors.New("error")))
				}()
				panic("on purpose")
			}()
			here()
			record.Fire(&stackRecord{1, "text", &stackRecord{2, "more", nil}})
			here()
			record.Fire(nil)
		}()
		<-done
		return calls
	}
}

// inlined is inlined into its callers.
func inlined(here func(), fire func(int)) {
	here()
	fire(7)
}

// TestStackOfGo compares the stacks of firings in Go, via the kernel and through shared
// memory, with what the runtime says.
func TestStackOfGo(t *testing.T) {
	fire := stackOfGo(t)
	kept := map[string]int{"stackgo:*_*": 20, "stackgo:c_mixed": 3, "stackgo:d_text": 1} // bytes of each text
	tests := map[string]attach.Options{
		"stackgo:*":       {},
		"stackgo:*_*":     {Follow: []string{"Next"}},
		"stackgo:?_*":     {Unwind: true},
		"stackgo:c_mixed": {Where: `text ~ "long*"`},
		"stackgo:d_text":  {Where: `text ~ "after*" && err == "error"`},
	}
	if runtime.GOARCH == "arm64" {
		delete(tests, "stackgo:?_*") // Options.Unwind says so
	}
	for selector, o := range tests {
		t.Run(fmt.Sprint(o.Where, kept[selector]), func(t *testing.T) {
			o.Stack, o.Target.PIDs = attach.MaxStack, []int{os.Getpid()}
			sessions := both(t, o, func(o *attach.Options) (*attach.Session, error) {
				return attach.OpenEvents(t.Context(), []string{selector}, &attach.EventOptions{MaxString: kept[selector]}, o)
			})
			want := fire()
			var all [2][]string
			for i, s := range sessions {
				t.Cleanup(func() { s.Close() })
				events := drain(t, s)
				if o.Where == "" && len(events) != len(want) {
					t.Fatalf("%d events, want %d", len(events), len(want))
				}
				for j, ev := range events {
					got := callsOf(ev.Stack)
					all[i] = append(all[i], fmt.Sprintf("%s %v %+v", ev.Name, ev.Args, got))
					if o.Where != "" {
						continue
					}
					want := slices.Clone(want[j])
					want[0].Line++ // Fire is in the next one
					if d := cmp.Diff(want, got); ev.Stack.Err != nil || d != "" {
						t.Errorf("%v, event %d, %s: %v (-runtime +here):\n%s", s.Via(), j, ev.Name, ev.Stack.Err, d)
					}
				}
			}
			if d := cmp.Diff(all[0], all[1]); d != "" || len(all[0]) == 0 {
				t.Errorf("%d events, kernel and shared memory differ (-kernel +shared):\n%s", len(all[0]), d)
			}
		})
	}
}

// TestStackDepth checks that stacks have as many addresses as asked for, by events and by
// views.
func TestStackDepth(t *testing.T) {
	fire := stackOfGo(t)
	for _, most := range []int{1, 3, 40} {
		o := own()
		o.Stack = most
		sessions := both(t, o, func(o *attach.Options) (*attach.Session, error) {
			return attach.Open(t.Context(), []string{"stackgo:b_number"}, o)
		})
		want := fire()[2][0]
		want.Line++
		for i, s := range sessions {
			if err := s.Stop(); err != nil {
				t.Fatal(err)
			}
			n := 0
			for v, err := range s.Views() {
				if err != nil {
					t.Fatal(err)
				}
				ev, err := v.Event()
				if err != nil {
					t.Fatal(err)
				}
				if n++; n != 2 { // the deep one
					continue
				}
				if len(ev.Stack.PCs) != most {
					t.Errorf("way %d: %d addresses, want %d", i, len(ev.Stack.PCs), most)
				}
				if !slices.Equal(v.Stack().PCs, ev.Stack.PCs) {
					t.Errorf("way %d: the view has %#x, the event %#x", i, v.Stack().PCs, ev.Stack.PCs)
				}
				if got := callsOf(ev.Stack); len(got) == 0 || got[0] != want {
					t.Errorf("way %d: stack %v, want one that begins with %v", i, got, want)
				}
			}
			if n != 2 {
				t.Errorf("way %d: %d events, want 2", i, n)
			}
			s.Close()
		}
	}
}

// functions returns the names of functions on a stack up to main.
func functions(s *event.Stack) string {
	var names []string
	for _, f := range s.Frames() {
		if names = append(names, f.Func); f.Func == "main" {
			break
		}
	}
	return strings.Join(names, " ")
}

// TestStackOfC checks the stacks of a program in C with frame pointers: at a probe, at a
// function's entry and return, of a process that lives, one that has ended, and one that
// had ended before anybody knew it.
func TestStackOfC(t *testing.T) {
	// Static, since each session reads what names the C library anew, which takes a second.
	path := compileC(t, "stack", "gcc", "-static-pie", "-O1", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls")
	testStackOfC(t, path, false)
}

// TestUnwoundStackOfC does so for a program without frame pointers.
func TestUnwoundStackOfC(t *testing.T) {
	path := compileC(t, "stack", "gcc", "-static-pie", "-O1", "-g", "-fomit-frame-pointer", "-fno-optimize-sibling-calls")
	testStackOfC(t, path, true)
}

func testStackOfC(t *testing.T, path string, unwind bool) {
	for _, test := range []struct{ selector, want string }{
		{"stacked:hit", "leaf middle main"},
		{"uprobe:" + path + ":leaf", "leaf middle main"},
		{"uretprobe:" + path + ":leaf", "middle main"},
	} {
		for _, link := range stackLinks() {
			for _, life := range []string{"lives", "ended", "unknown"} {
				t.Run(fmt.Sprint(test.selector[:4], link, life), func(t *testing.T) {
					args := []string{"at once"}
					if life == "lives" {
						args = nil
					}
					p := start(t, exec.Command(path, args...))
					selector, o := test.selector, attach.Options{Stack: attach.MaxStack, Link: link, Unwind: unwind}
					if life != "unknown" {
						o.Target.PIDs = []int{p.PID()}
					} else if !strings.HasPrefix(selector, "u") {
						selector = path + ":" + selector
					}
					s := open(t, selector, &o)
					p.Send("")
					if life == "lives" {
						for p.Line() != "done" {
						}
					} else if p.Rest(); p.End() != nil {
						t.Fatal("the program failed")
					}
					events := drain(t, s)
					if len(events) != 2 {
						t.Fatalf("%d events, want 2", len(events))
					}
					want, deep := test.want, attach.MaxStack
					if life == "unknown" && strings.HasPrefix(selector, "uret") {
						// Nothing says where the process had the file.
						if want = ""; unwind {
							deep = 0 // where frame pointers seem to lead
						}
					}
					if got := functions(events[0].Stack); !strings.HasPrefix(got, want) {
						t.Errorf("stack %q, want %q: %v", got, want, events[0].Stack.Frames())
					}
					if got := len(events[1].Stack.PCs); got != deep && (deep > 0 || got == 0) {
						t.Errorf("%d addresses of a deep stack, want %d", got, deep)
					}
				})
			}
		}
	}
}

// TestStackOfMusl checks where stacks of programs end whose C library has neither tables nor
// frame pointers, and begins with a frame pointer of zero: at main or its caller, marked if they
// are unwound.
func TestStackOfMusl(t *testing.T) {
	needs.Tools(t, "musl-gcc")
	for _, flags := range []string{"-static -fno-omit-frame-pointer", "-fno-omit-frame-pointer", "-static -fomit-frame-pointer", "-fomit-frame-pointer"} {
		unwind := strings.Contains(flags, "-fomit")
		path := compileC(t, "stack", append(strings.Fields("musl-gcc -O1 -g -fno-optimize-sibling-calls -idirafter /usr/include/x86_64-linux-gnu"), strings.Fields(flags)...)...)
		p := start(t, exec.Command(path, "at once"))
		s := open(t, "uprobe:"+path+":leaf", &attach.Options{Stack: attach.MaxStack, Unwind: unwind, Target: attach.Target{PIDs: []int{p.PID()}}})
		p.Send("")
		p.Rest()
		if err := p.End(); err != nil {
			t.Fatal(err)
		}
		events := drain(t, s)
		if len(events) != 2 {
			t.Fatalf("%s: %d events, want 2", flags, len(events))
		}
		stack := events[0].Stack
		if got := functions(stack); got != "leaf middle main" || len(stack.PCs) > 4 || (stack.Err != nil) != unwind {
			t.Errorf("%s: %v (%v), want leaf, middle, main and its caller, cut: %v", flags, stack.Frames(), stack.Err, unwind)
		}
	}
}

// TestStackFrames checks the frames of a probe in C: their module and offset.
func TestStackFrames(t *testing.T) {
	path := compileC(t, "stack", "gcc", "-O1", "-g", "-fno-omit-frame-pointer", "-Wl,--build-id=0x0123456789abcdef")
	p := start(t, exec.Command(path))
	s := open(t, "stacked:hit", &attach.Options{Stack: 2, Target: attach.Target{PIDs: []int{p.PID()}}})
	p.Send("")
	for p.Line() != "done" {
	}
	ev := drain(t, s)[0]
	f := ev.Stack.Frames()[0]
	f.File = ""
	want := symbols.Frame{
		Address: ev.Probe.Live.Address, Func: "leaf", Line: 17, Module: path, BuildID: "0123456789abcdef", Offset: ev.Probe.Offset,
	}
	if d := cmp.Diff(want, f); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	got := string(ev.Stack.AppendJSON(nil))
	prefix := fmt.Sprintf(`[{"addr":%d,"func":"leaf","file":`, want.Address)
	if !strings.HasPrefix(got, prefix) || !strings.Contains(got, `,"line":17,"module":"`+path+`","offset":`) || !strings.HasSuffix(got, `"build_id":"0123456789abcdef"}]`) {
		t.Errorf("JSON %s, want %s…", got, prefix)
	}
}

// TestStackRefused checks what has no stacks.
func TestStackRefused(t *testing.T) {
	for _, o := range []attach.Options{
		{Stack: -1}, {Stack: attach.MaxStack + 1}, {Unwind: true}, {Stack: 1, Unwind: true, Target: attach.Target{Recordings: []string{"x"}}},
	} {
		var option *attach.OptionError
		if err := o.Validate(); !errors.As(err, &option) || option.Option != "Stack" {
			t.Errorf("%+v: got error %v, want one in option Stack", o, err)
		}
	}
}
