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

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/features"
	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/needs"
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

// ask has the program run a command and returns its answer.
func (p *program) ask(line string) string {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.in, line); err != nil {
		p.t.Fatalf("traced program: %v (%v)", err, p.end())
	}
	answer, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatalf("traced program after %q: %v (%v)", line, err, p.end())
	}
	return strings.TrimSpace(answer)
}

// named are the values of arguments called by the names that follow.
func named(pairs ...any) []arg {
	var out []arg
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, arg{Name: pairs[i].(string), Value: pairs[i+1]})
	}
	return out
}

// byName are the arguments of events, by the name of the function and "()"
// behind it for returns.
func byName(events []attach.Event) map[string][][]arg {
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
	s, err := attach.OpenAll(selectors, opts)
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
		{"i386", i386Flags, attach.AutoLink, 32},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.bits == 32 && runtime.GOARCH != "amd64" {
				t.Skip("the program is for x86-64")
			}
			path := build(t, "functions.c", test.command...)
			p := start(t, exec.Command(path))
			s := openAll(t, &attach.Options{
				Args:    []string{"arg0", "arg7", "arg2"},
				Strings: []string{"functions:length:arg0"},
				Link:    test.kind,
			}, "uprobe:"+path+":sum8", "uprobe:"+path+":length", "uretprobe:"+path+":*")
			want := p.ask("")
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
			// What it printed is what the probes saw.
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
			if ev := events[0]; ev.Provider != "functions" || ev.PID != p.pid() {
				t.Errorf("event %+v", ev)
			}
			checkSum(t, s)
		})
	}
}

// TestFunctionText follows results and arguments to text, where that is asked
// for, and tests conditions on them, also on arguments that events do not hold.
func TestFunctionText(t *testing.T) {
	path := build(t, "functions.c", "gcc", "-O2")
	p := start(t, exec.Command(path))
	s := open(t, "uretprobe:"+path+":word", &attach.Options{Strings: []string{"retval"}, Where: `retval ~ "pos*"`})
	none := open(t, "uprobe:"+path+":length", &attach.Options{Where: `arg0 == "hello"`})
	far := open(t, "uprobe:"+path+":sum8", &attach.Options{Args: []string{"none"}, Where: "arg7 < 0 && arg6 == 7"})
	p.ask("")
	if got := byName(drain(t, s)); cmp.Diff(map[string][][]arg{"word()": {named("retval", "positive")}}, got) != "" {
		t.Errorf("got %v", got)
	}
	if got := drain(t, none); len(got) != 0 {
		t.Errorf("got %v of which the condition does not hold", got)
	}
	if got := byName(drain(t, far)); cmp.Diff(map[string][][]arg{"sum8": {nil}}, got) != "" {
		t.Errorf("got %v", got)
	}

	types := attach.Options{Args: []string{"retval:int32", "arg0:uint8", "arg7:int16"}, Where: "retval < 0 && retval > -10"}
	ints := open(t, "uretprobe:"+path+":small", &types)
	types.Where = "arg7 < 0 && arg0 == 1"
	entries := open(t, "uprobe:"+path+":sum8", &types)
	p.ask("")
	if d := cmp.Diff(map[string][][]arg{"small()": {named("retval", int64(-6))}}, byName(drain(t, ints))); d != "" {
		t.Errorf("a result that is an int (-want +got):\n%s", d)
	}
	if d := cmp.Diff(map[string][][]arg{"sum8": {named("arg0", uint64(1), "arg7", int64(-8))}}, byName(drain(t, entries))); d != "" {
		t.Errorf("arguments with types (-want +got):\n%s", d)
	}

	_, err := attach.Open("uprobe:"+path+":sum8", &attach.Options{Where: "retval == 0"})
	var where *attach.WhereError
	if !errors.As(err, &where) || !strings.Contains(err.Error(), "uprobe:functions:sum8 has no argument retval") {
		t.Errorf("a condition on the result at the entry: %v", err)
	}
	for _, wrong := range []string{"a", "arg", "arg01", "arg0:", "arg0:int", "none", ""} {
		if _, err := attach.Open("uprobe:"+path+":sum8", &attach.Options{Args: []string{"arg0", wrong}}); err == nil || !strings.Contains(err.Error(), "arg0") {
			t.Errorf("argument %q: error %v", wrong, err)
		}
	}
}

func TestFunctionAggregate(t *testing.T) {
	path := build(t, "functions.c", "gcc", "-O2")
	p := start(t, exec.Command(path))
	a := openAggregate(t, []string{"uprobe:" + path + ":sum8", "uprobe:" + path + ":fact*", "uretprobe:" + path + ":fact*"},
		attach.Aggregation{By: []string{"probe"}}, nil)
	byArgument := openAggregate(t, []string{"uprobe:" + path + ":sum8"}, attach.Aggregation{By: []string{"arg7"}, Value: "arg6", Sum: true}, nil)
	latency, err := attach.OpenLatency("uprobe:"+path+":sum8", "uretprobe:"+path+":__sum_alias", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer latency.Close()
	const calls = 3
	for range calls {
		p.ask("")
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

func TestFunctionsCpp(t *testing.T) {
	path := build(t, "functions.cc", "g++", "-O0")
	p := start(t, exec.Command(path))
	s := openAll(t, &attach.Options{Args: []string{"arg1"}}, "uprobe:"+path+":std::vector<*>::push_back*", "uprobe:"+path+":parser::parse")
	p.ask("")
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

	if _, err := attach.Open("uretprobe:libstdc++.so.6:__cxa_throw", nil); !errors.Is(err, attach.ErrUnsafe) {
		t.Errorf("returns from what throws: %v", err)
	}
	// The exception would pass through the function.
	_, err := attach.Open("uretprobe:"+path+":parser::parse", nil)
	if !errors.Is(err, attach.ErrUnsafe) || !strings.Contains(err.Error(), "exception") {
		t.Errorf("returns from a function that throws: %v", err)
	}
	s = open(t, "uretprobe:"+path+":parser::parse", &attach.Options{Force: true})
	if _, err := fmt.Fprintln(p.in); err != nil {
		t.Fatal(err)
	}
	if err := p.end(); err == nil {
		t.Error("the exception was caught: the refusal has become wrong")
	}
	if got := byName(drain(t, s))["parser::parse(long)()"]; len(got) != 2 {
		t.Errorf("returns until the exception: %v", got)
	}

	path = build(t, "functions.cc", "g++", "-O0", "-fno-exceptions")
	p = start(t, exec.Command(path))
	s = open(t, "uretprobe:"+path+":parser::parse", nil)
	want := p.ask("")
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
			if got := p.ask("/index"); got != "38" {
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
			n := map[string]int{"amd64": 9, "arm64": 16}[runtime.GOARCH]
			if len(got) != n || len(n9(got)) != 9 {
				t.Fatalf("%d arguments, want %d", len(got), n)
			}
			// A string is a pointer and a length.
			want := named("arg1", "/index", "arg2", int64(6), "arg3", int64(-2), "arg4", int64(3), "arg5", int64(4), "arg6", int64(5), "arg7", int64(6), "arg8", int64(7))
			if d := cmp.Diff(want, n9(got)[1:]); d != "" {
				t.Errorf("arguments (-want +got):\n%s", d)
			}
			// The stack grows while it calls itself, and each time it begins anew.
			s = open(t, "uprobe:"+path+":main.grow", nil)
			p.ask("")
			if got := len(drain(t, s)); got != 101 {
				t.Errorf("%d events of 101 calls that need a larger stack", got)
			}
			_, err := attach.Open("uretprobe:"+path+":main.work", nil)
			if !errors.Is(err, attach.ErrUnsafe) || !strings.Contains(err.Error(), "stacks") {
				t.Errorf("returns from a function of Go: %v", err)
			}
			p.ask("unharmed")
		})
	}
}

// n9 returns the first nine arguments.
func n9(args []arg) []arg { return args[:min(9, len(args))] }

// TestFunctionEntries attaches to every kind of instruction that a function may
// begin with, and holds that none that the kernel would optimise is missed.
func TestFunctionEntries(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is for x86-64")
	}
	path := build(t, "entries.S", "gcc", "-nostdlib", "-static")
	unsafe := map[string]bool{"nop5": true, "nop5_disp": true, "nop5_data16": true, "nop5_xchg": true, "nop5_rex": true}
	refused := map[string]bool{"locked": true, "cs_nop": true, "vmovd": true, "in_port": true, "in_port2": true}
	notCalled := map[string]bool{"_start": true, "vzeroupper": true}
	for _, force := range []bool{false, true} {
		p := start(t, exec.Command(path))
		s := open(t, "uprobe:"+path+":*", &attach.Options{Args: []string{"none"}, Force: force})
		fires := map[string]int{}
		for _, site := range s.Plan() {
			name := site.Probe.Name
			isUnsafe := unsafe[name] && optimizesNop5
			if want := !refused[name] && (force || !isUnsafe); site.Attached != want {
				t.Errorf("%s, force %v: attached %v (%v)", name, force, site.Attached, site.Reason)
			}
			if !force && isUnsafe && !errors.Is(site.Reason, attach.ErrUnsafe) {
				t.Errorf("%s: reason %v", name, site.Reason)
			}
			if site.Attached && !notCalled[name] {
				fires[name] = 3
			}
		}
		for range 3 {
			p.ask("")
		}
		if force && optimizesNop5 {
			checkOptimized(t, p, s.Plan(), unsafe)
		}
		got := map[string]int{}
		for _, ev := range drain(t, s) {
			got[ev.Name]++
		}
		if d := cmp.Diff(fires, got); d != "" {
			t.Errorf("events, force %v (-want +got):\n%s", force, d)
		}
	}
}

// checkOptimized holds that the kernel has put calls to just those functions.
func checkOptimized(t *testing.T, p *program, plan attach.Plan, want map[string]bool) {
	t.Helper()
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", p.pid()))
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	for _, site := range plan {
		var b [1]byte
		if _, err := mem.ReadAt(b[:], int64(site.Probe.Location)); err != nil {
			t.Fatal(err)
		}
		if got := b[0] == 0xe8; got != want[site.Probe.Name] {
			t.Errorf("%s: optimised %v, want %v", site.Probe.Name, got, want[site.Probe.Name])
		}
	}
}

// TestFunctionsRefused are those that must not, or cannot, be traced.
func TestFunctionsRefused(t *testing.T) {
	path := build(t, "functions.c", "gcc", "-O2")
	start(t, exec.Command(path)).ask("") // somebody has mapped the C library
	for selector, want := range map[string]error{
		"uretprobe:" + path + ":_start":      attach.ErrUnsafe,
		"uretprobe:libc.so.6:__sigsetjmp":    attach.ErrUnsafe,
		"uprobe:libc.so.6:strlen":            attach.ErrSilent,
		"uprobe:" + path + ":none":           attach.ErrNoMatch,
		"uprobe:" + path + ":write":          attach.ErrNoMatch, // another object's
		"uprobe:no_such_file_anywhere.so:*":  attach.ErrNoMatch,
		"uprobe:" + path + "_not_there:sum8": os.ErrNotExist,
	} {
		if _, err := attach.Open(selector, nil); !errors.Is(err, want) {
			needPrivileges(t, err)
			t.Errorf("%s: error %v, want one that wraps %v", selector, err, want)
		}
	}
}

// TestFunctionLibrary traces a function of a library that is named as programs
// name it.
func TestFunctionLibrary(t *testing.T) {
	path := build(t, "functions.c", "gcc", "-O2")
	p := start(t, exec.Command(path))
	for _, pids := range [][]int{nil, {p.pid()}} {
		s := openAll(t, &attach.Options{PIDs: pids, Where: fmt.Sprintf("pid == %d", p.pid())}, "uprobe:libc.so.6:getppid", "uretprobe:libc.so.6:getppid")
		p.ask("")
		got := byName(drain(t, s))
		if len(got["getppid"]) != 1 || len(got["getppid"][0]) == 0 {
			t.Errorf("pids %v: calls %v", pids, got["getppid"])
		}
		if d := cmp.Diff([][]arg{named("retval", int64(os.Getpid()))}, got["getppid()"]); d != "" {
			t.Errorf("pids %v: returns (-want +got):\n%s", pids, d)
		}
	}
}

// TestOwnProgramOnFunctions attaches a program of the caller's to the entry of
// a function and to the return from it.
func TestOwnProgramOnFunctions(t *testing.T) {
	path := build(t, "functions.c", "gcc", "-O2")
	f, err := reader.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var probes []reader.Probe
	for fn, err := range f.Functions() {
		if err != nil {
			t.Fatal(err)
		}
		if fn.Name() == "factorial" {
			probes = append(probes, fn.Entry(), fn.Return())
		}
	}
	counts, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 2})
	if err != nil {
		needs.Skip(t, "%v", err)
	}
	defer counts.Close()
	typ := ebpf.AttachTraceUprobeMulti
	if err := features.HaveBPFLinkUprobeMulti(); errors.Is(err, ebpf.ErrNotSupported) {
		typ = ebpf.AttachNone
	}
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.Kprobe, AttachType: typ, License: "MIT",
		Instructions: asm.Instructions{ // counts[cookie - 100]++
			asm.FnGetAttachCookie.Call(),
			asm.Sub.Imm(asm.R0, 100),
			asm.StoreMem(asm.R10, -4, asm.R0, asm.Word),
			asm.LoadMapPtr(asm.R1, counts.FD()),
			asm.Mov.Reg(asm.R2, asm.R10), asm.Add.Imm(asm.R2, -4),
			asm.FnMapLookupElem.Call(),
			asm.JEq.Imm(asm.R0, 0, "exit"),
			asm.Mov.Imm(asm.R1, 1),
			asm.StoreXAdd(asm.R0, asm.R1, asm.DWord),
			asm.Mov.Imm(asm.R0, 0).WithSymbol("exit"),
			asm.Return(),
		},
	})
	if err != nil {
		needs.Skip(t, "%v", err)
	}
	defer prog.Close()
	a, err := attach.Probes(prog, probes, &attach.Options{Cookies: []uint64{100, 101}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	p := start(t, exec.Command(path))
	p.ask("")
	var got [2]uint64
	for i := range got {
		if err := counts.Lookup(uint32(i), &got[i]); err != nil {
			t.Fatal(err)
		}
	}
	if got != [2]uint64{5, 5} {
		t.Errorf("%d entries and %d returns, want 5 of each", got[0], got[1])
	}
}

// TestFunctionSitesAfterwards holds that the code is as before after Close, when
// the kernel has removed what perf events put there.
func TestFunctionSitesAfterwards(t *testing.T) {
	path := build(t, "functions.c", "gcc", "-O2", "-no-pie")
	p := start(t, exec.Command(path))
	s := open(t, "uretprobe:"+path+":sum8", nil)
	at := int64(s.Plan()[0].Probe.Location)
	read := func() byte {
		mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", p.pid()))
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
	p.ask("")
}

func TestManyFunctions(t *testing.T) {
	if err := features.HaveBPFLinkUprobeMulti(); errors.Is(err, ebpf.ErrNotSupported) {
		needs.Skip(t, "without uprobe_multi: 3000 perf events take minutes to close")
	}
	const n = 3000
	path := buildMany(t, n)
	before := len(ownLinks(t))
	s := open(t, "uprobe:"+path+":many_*", &attach.Options{Args: []string{"arg0"}})
	if got := s.Plan().Attached(); got != n {
		t.Errorf("attached %d functions, want %d", got, n)
	}
	if got := len(ownLinks(t)) - before; got != 1 {
		t.Errorf("%d links, want one", got)
	}
	p := start(t, exec.Command(path))
	p.ask("")
	events := drain(t, s)
	seen := map[string]bool{}
	for i, ev := range events {
		seen[ev.Name] = true
		if want := fmt.Sprintf("many_%d", i); ev.Name != want || ev.Args[0].Value != int64(i) {
			t.Fatalf("event %d is of %s with %v", i, ev.Name, ev.Args)
		}
	}
	if len(seen) != n || len(events) != n {
		t.Errorf("%d events of %d functions, want %d", len(events), len(seen), n)
	}
	checkSum(t, s)
}

// buildMany makes a program with functions many_0 … that are called in this
// order, each with its number, for every line that it reads.
func buildMany(t testing.TB, n int) string {
	t.Helper()
	var s strings.Builder
	s.WriteString("#include <stdio.h>\n")
	for i := range n {
		fmt.Fprintf(&s, "__attribute__((noinline)) long many_%d(long n) { __asm__ volatile(\"\"); return n; }\n", i)
	}
	s.WriteString("int main(void) {\nfor (int c; (c = getchar()) != EOF;) {\nlong sum = 0;\n")
	for i := range n {
		fmt.Fprintf(&s, "sum += many_%d(%d);\n", i, i)
	}
	s.WriteString("printf(\"%ld\\n\", sum); fflush(stdout);\n}\n}\n")
	dir := t.TempDir()
	src, out := filepath.Join(dir, "many.c"), filepath.Join(dir, "many")
	if err := os.WriteFile(src, []byte(s.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if msg, err := exec.Command("gcc", "-O0", "-o", out, src).CombinedOutput(); err != nil {
		needs.Skip(t, "needs gcc: %v: %s", err, msg)
	}
	return out
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
