package event_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/decode"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/symbols"
)

// TestNoCode checks that a stack ends, and says so, where a frame pointer was none and leads
// to a word that is no address of code.
func TestNoCode(t *testing.T) {
	const code = 0x55d9d098a068
	for _, test := range []struct {
		name   string
		pcs    []uint64
		copied int
		want   int
		cut    bool
	}{
		{"whole", []uint64{code, code, 0x401000}, 0, 3, false},
		{"null", []uint64{code, 0}, 0, 1, true},
		{"number", []uint64{code, code, 2, code}, 0, 2, true},
		{"text", []uint64{code, 0x4102360c00005580, code}, 0, 1, true},
		{"where it fired", []uint64{2, code}, 0, 2, false},
		{"unwound", []uint64{code, 2}, 1, 2, false},
		{"as many as are read", []uint64{code, 0, code, code}, 0, 1, true},
	} {
		s := decode.NamedStack(symbols.Calls{PCs: slices.Clone(test.pcs)}, &record.Stack{Most: 4, Copied: test.copied}, nil)
		if len(s.PCs) != test.want || (s.Err != nil) != test.cut {
			t.Errorf("%s: %d addresses, %v, want %d, cut %t", test.name, len(s.PCs), s.Err, test.want, test.cut)
		}
	}
}

// names is code of which one address has very many functions with long names.
type names []symbols.Frame

func (n names) Names(uint64, bool) []symbols.Frame { return n }

func (names) Unwind([]uint64, *symbols.Registers, []byte) symbols.Calls { return symbols.Calls{} }

// TestBegins checks that a stack by frame pointers says that callers are missing if its outermost
// function is known to start no thread.
func TestBegins(t *testing.T) {
	for _, test := range []struct {
		last   symbols.Frame
		copied int
		cut    bool
	}{
		{symbols.Frame{Func: "handle", Module: "/srv"}, 0, true},
		{symbols.Frame{Func: "main", Module: "/srv"}, 0, false},
		{symbols.Frame{Func: "__libc_start_call_main", Module: "/libc.so.6"}, 0, false},
		{symbols.Frame{Func: "start_thread", Module: "/libc.so.6"}, 0, false},
		{symbols.Frame{Func: "runtime.goexit.abi0", Module: "/srv"}, 0, false},
		{symbols.Frame{Func: "restart_thread", Module: "/srv"}, 0, true},
		{symbols.Frame{Module: "/stripped"}, 0, false},
		{symbols.Frame{}, 0, false},
		{symbols.Frame{Func: "handle", Module: "/srv"}, 1, false}, // its tables know
	} {
		s := decode.NamedStack(symbols.Calls{PCs: []uint64{0x401000, 0x402000}}, &record.Stack{Most: 4, Copied: test.copied}, names{test.last})
		if (s.Err != nil) != test.cut {
			t.Errorf("%+v: %v, want cut %t", test.last, s.Err, test.cut)
		}
	}
}

// TestStackBound checks that the text of a stack is bounded, whatever its functions are called,
// and that deep stacks of templates are whole.
func TestStackBound(t *testing.T) {
	named := func(inlined, length int) names {
		return append(slices.Repeat(names{{Func: strings.Repeat("n", length), File: "/usr/include/c++/12/bits/stl_algo.h", Module: "/usr/bin/program"}}, inlined), symbols.Frame{Func: "main"})
	}
	for _, test := range []struct {
		name    string
		code    names
		calls   int
		cut     bool
		longest int
	}{
		{"templates", named(5, 300), 127, false, 1 << 20},
		{"long names", named(1, 64<<10), 127, true, 1 << 20},
		{"very many functions", named(4000, 1), 127, true, 2 << 20},
		{"one address", named(256, 64<<10), 1, true, 128 << 10},
		{"deep", named(1, 60), 1024, false, 1 << 20},
	} {
		s := decode.NamedStack(symbols.Calls{PCs: slices.Repeat([]uint64{0x10000}, test.calls)}, &record.Stack{Most: test.calls + 1}, test.code)
		text := s.AppendError(s.AppendJSON(nil))
		if (s.Err != nil) != test.cut || len(text) > test.longest || len(s.Frames()) == 0 || strings.Contains(string(text), `"truncated"`) != test.cut {
			t.Errorf("%s: %d bytes of text, %d frames, %v, want at most %d bytes, cut %t", test.name, len(text), len(s.Frames()), s.Err, test.longest, test.cut)
		}
	}
}

// TestOwnClosure leaves out the closure of Fire where it is not inlined, as with the race detector:
// it has the name of the function into which Fire is inlined, which provider.when called it for.
func TestOwnClosure(t *testing.T) {
	const own, user = "github.com/go-usdt/usdt/provider.", "example.com/shop.handle"
	code := namesByPC{
		0x401000: {{Func: own + "fire"}},
		0x402000: {{Func: user + ".(*Probe4[...]).Fire.2"}},
		0x403000: {{Func: own + "when"}, {Func: own + "(*Probe4[...]).Fire"}, {Func: user}},
		0x404000: {{Func: "example.com/shop.when"}, {Func: user}},
	}
	for _, test := range []struct {
		pcs  []uint64
		want string
	}{
		{[]uint64{0x401000, 0x402000, 0x403000}, user},
		{[]uint64{0x402000, 0x404000}, user + ".(*Probe4[...]).Fire.2 example.com/shop.when " + user},
	} {
		s := decode.NamedStack(symbols.Calls{PCs: test.pcs}, &record.Stack{Most: 18, Own: 10, Returns: true}, code)
		var got []string
		for _, f := range s.Frames() {
			got = append(got, f.Func)
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%#x: got %q, want %s", test.pcs, got, test.want)
		}
	}
}

// namesByPC names code by its address.
type namesByPC map[uint64][]symbols.Frame

func (n namesByPC) Names(pc uint64, _ bool) []symbols.Frame { return n[pc] }

func (n namesByPC) Unwind([]uint64, *symbols.Registers, []byte) symbols.Calls {
	return symbols.Calls{}
}

// TestOwnFrames checks that the code that fired a probe is left out: also where it is inlined,
// and then closures of Fire have the name of the function that calls it.
func TestOwnFrames(t *testing.T) {
	const own, user = "github.com/go-usdt/usdt/provider.", "example.com/shop.handle"
	for _, test := range []struct {
		inlined string // the innermost first
		want    string
	}{
		{user, user},
		{own + "(*Probe3[...]).Fire " + user, user},
		{user + ".(*Probe3[...]).Fire.func1 " + own + "when " + own + "(*Probe3[...]).Fire " + user, user},
		{user + ".inner " + user, user + ".inner " + user},
	} {
		var code names
		for _, name := range strings.Fields(test.inlined) {
			code = append(code, symbols.Frame{Func: name})
		}
		s := decode.NamedStack(symbols.Calls{PCs: []uint64{0x401000}}, &record.Stack{Most: 8, Own: 2, Returns: true}, code)
		var got []string
		for _, f := range s.Frames() {
			got = append(got, f.Func)
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: got %q, want %s", test.inlined, got, test.want)
		}
	}
}
