package attach_test

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/returning"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

func init() {
	roles["returning"] = func([]string) error {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			fmt.Println(returning.String(returning.Run()))
		}
		return nil
	}
}

// ofReturning selects functions of package returning by a name, which is no pattern.
func ofReturning(kind, path, name string) string {
	return kind + ":" + path + ":github.com/go-usdt/usdt/internal/systest/returning." + strings.NewReplacer("*", `\*`, "[", `\[`).Replace(name)
}

// TestGoReturns counts entries and returns of functions of Go that return in every way, which the
// program counts itself, and matches them.
func TestGoReturns(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	checkGoReturns(t, path, startChild(t, "returning"))
}

// TestGoReturnsOfVersions does so for versions of Go.
func TestGoReturnsOfVersions(t *testing.T) {
	needs.Tools(t, "go")
	for _, version := range []string{"", "go1.27.4"} {
		t.Run(version, func(t *testing.T) {
			tool, path := "go", filepath.Join(t.TempDir(), "returns")
			env := append(os.Environ(), "GOFLAGS=-mod=mod")
			if version != "" {
				root := needs.Toolchain(t, version)
				tool, env = filepath.Join(root, "bin", "go"), append(env, "GOENV=off", "GOROOT="+root, "GOTOOLCHAIN=local")
			}
			cmd := exec.Command(tool, "build", "-o", path, "./testdata/returns")
			cmd.Env = env
			if msg, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %v\n%s", cmd, err, msg)
			}
			checkGoReturns(t, path, start(t, exec.Command(path)))
		})
	}
}

func checkGoReturns(t *testing.T, path string, p *tracee.Program) {
	o := &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}}
	counts := map[string]*attach.Aggregate{}
	latencies := map[string]*attach.Latency{}
	names, err := returning.Parse(p.Do(""))
	if err != nil || len(names) < 10 {
		t.Fatalf("%v, error %v", names, err)
	}
	for name := range names {
		if testing.Short() && name != "Deep" && name != "Large" && name != "Through" {
			continue // each takes ten seconds on emulated machines
		}
		entry, ret := ofReturning("uprobe", path, name), ofReturning("uretprobe", path, name)
		counts[name] = openAggregate(t, []string{entry, ret}, attach.Count().By("probe"), o)
		if latencies[name], err = attach.OpenLatency(t.Context(), entry, ret, nil, o); err != nil {
			t.Fatal(err)
		}
		defer latencies[name].Close()
	}
	// Each function returns what it is given: a pair of other calls would have two values.
	equal := map[string]*attach.Pairs{}
	for _, name := range []string{"Three", "Deep", "Large", "Recovers"} {
		if counts[name] == nil {
			continue
		}
		equal[name], err = attach.OpenPairs(t.Context(), ofReturning("uprobe", path, name), ofReturning("uretprobe", path, name), nil, o)
		if err != nil {
			t.Fatal(err)
		}
	}
	all, err := returning.Parse(p.Do(""))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range all {
		if counts[name] == nil {
			continue
		}
		groups, err := counts[name].Read()
		if err != nil {
			t.Fatal(err)
		}
		var got returning.Count
		for _, g := range groups {
			if strings.HasPrefix(g.By[0].Value.(string), "uretprobe:") {
				got.Returns += int64(g.Count)
			} else {
				got.Calls += int64(g.Count)
			}
		}
		if got != want {
			t.Errorf("%s: counted %+v, and the program %+v", name, got, want)
		}
		pairs, err := latencies[name].Pairs()
		if err != nil || pairs.Pairs != uint64(want.Returns) || pairs.Unstarted != 0 || pairs.Pending+pairs.TooDeep != uint64(want.Calls-want.Returns) {
			t.Errorf("%s: pairs %+v of %+v, error %v", name, pairs, want, err)
		}
	}
	for name, a := range equal {
		pairs, _ := endPairs(t, a)
		wrong := 0
		for _, pair := range pairs {
			if pair.Start.Args[0].Value != pair.End.Args[0].Value {
				wrong++
			}
		}
		if wrong > 0 || int64(len(pairs)) != all[name].Returns {
			t.Errorf("%s: %d pairs of %d, of which %d are of two calls", name, len(pairs), all[name].Returns, wrong)
		}
	}
	for name, why := range map[string]string{"(*Out).M": "(a tail call), github.com/go-usdt/usdt/internal/systest/returning.(*In).M"} {
		_, err := attach.Open(t.Context(), []string{ofReturning("uretprobe", path, name)}, o)
		if !errors.Is(err, attach.ErrUnsafe) || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: error %v, want %q", name, err, why)
		}
		if _, err := attach.OpenLatency(t.Context(), ofReturning("uprobe", path, name), ofReturning("uretprobe", path, name), nil, o); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: error %v, want %q", name, err, why)
		}
	}
}

// TestGoReturnStacks checks that the stack at a return has the function and who called it.
func TestGoReturnStacks(t *testing.T) {
	path, err := tracee.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := startChild(t, "returning")
	s := open(t, ofReturning("uretprobe", path, "Text"), &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Stack: attach.MaxStack})
	p.Do("")
	for _, ev := range drain(t, s) {
		var frames []string
		for _, f := range ev.Stack.Frames() {
			_, name, _ := strings.Cut(f.Func, "/returning.")
			frames = append(frames, name)
		}
		if len(frames) < 3 || !strings.HasPrefix(frames[0], "Text") || !slices.Contains(frames, "Run") {
			t.Fatalf("stack %q", frames)
		}
	}
}

// TestReturnsOfSwitched counts the returns of functions of C that coroutines leave, through which
// exceptions pass, or panics of Rust.
func TestReturnsOfSwitched(t *testing.T) {
	needs.C(t)
	const switchCode = "go_on: push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15\nmov %rsp,(%rdi); mov %rsi,%rsp\npop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp; ret"
	dir := t.TempDir()
	for name, test := range map[string]struct {
		build    func(t *testing.T) string
		function string
		says     string
		counts   map[string]uint64
		sum      int64 // of results
	}{
		"assembly": {func(t *testing.T) string {
			if runtime.GOARCH != "amd64" {
				t.Skip("the program is for x86-64")
			}
			return buildSwitched(t, switchCode, false).program
		}, "work", "done 400 wrong 0", map[string]uint64{"uprobe": 400, "uretprobe": 400}, 200*1000 + 2*199*100},
		"swapcontext": {func(t *testing.T) string { return build(t, "switchcontext.c", "gcc", "-O1") }, "step", "10", map[string]uint64{"uprobe": 10, "uretprobe": 10}, 55},
		"exceptions": {func(t *testing.T) string {
			needs.Tools(t, "g++")
			library, program := filepath.Join(dir, "libpassing.so"), filepath.Join(dir, "exceptions")
			needs.Run(t, "g++", "-O1", "-fno-optimize-sibling-calls", "-shared", "-fPIC", "-DLIBRARY", "-o", library, "testdata/exceptions.cc")
			needs.Run(t, "g++", "-O1", "-fno-optimize-sibling-calls", "-rdynamic", "-o", program, "testdata/exceptions.cc", "-L"+dir, "-Wl,-rpath,$ORIGIN", "-lpassing")
			return program
		}, "plain", "5", map[string]uint64{"uprobe": 4, "uretprobe": 2}, 1 + 3},
		"rust": {func(t *testing.T) string {
			needs.Tools(t, "rustc")
			program := filepath.Join(dir, "panics")
			needs.Run(t, "rustc", "-O", "-o", program, "testdata/panics.rs")
			return program
		}, "panics::half", "100", map[string]uint64{"uprobe": 20, "uretprobe": 10}, 100},
	} {
		t.Run(name, func(t *testing.T) {
			path := test.build(t)
			p := start(t, exec.Command(path))
			o := &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}}
			entry, ret := "uprobe:"+path+":"+test.function, "uretprobe:"+path+":"+test.function
			a := openAggregate(t, []string{entry, ret}, attach.Count().By("probe"), o)
			sum := openAggregate(t, []string{ret}, attach.Sum("retval"), &attach.Options{Target: o.Target, Args: []string{"retval:int32"}})
			l, err := attach.OpenLatency(t.Context(), entry, ret, nil, o)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if got := p.Do(""); got != test.says {
				t.Errorf("the program says %s under its probes, not %s", got, test.says)
			}
			got := map[string]uint64{}
			groups, err := a.Read()
			for _, g := range groups {
				kind, _, _ := strings.Cut(g.By[0].Value.(string), ":")
				got[kind] += g.Count
			}
			if d := cmp.Diff(test.counts, got); d != "" || err != nil {
				t.Errorf("error %v, counts (-want +got):\n%s", err, d)
			}
			if groups, err := sum.Read(); err != nil || len(groups) != 1 || groups[0].Sum != test.sum {
				t.Errorf("results %+v, error %v, want a sum of %d", groups, err, test.sum)
			}
			if pairs, err := l.Pairs(); err != nil || pairs.Pairs != test.counts["uretprobe"] || pairs.Unstarted != 0 {
				t.Errorf("pairs %+v, error %v", pairs, err)
			}
		})
	}
}

// TestReturnsRefused asks for returns of functions that leave in another way, or of which the
// end is not known.
func TestReturnsRefused(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is for x86-64")
	}
	needs.C(t)
	code := `go_on: push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15
	mov %rsp,(%rdi); mov %rsi,%rsp
	pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp; ret
	.globl tail, vtail, unsized, never, falls, middle
	.type tail,@function
tail: jmp go_on
	.size tail, .-tail
	.type vtail,@function
vtail: mov (%rdi),%rax; test %rax,%rax; je 1f; jmp *8(%rax)
1:	ret
	.size vtail, .-vtail
	.type unsized,@function
unsized: ret
	.type never,@function
never: ud2
	.size never, .-never
	.type falls,@function
falls: test %edi,%edi; je 1f; ret
1:	inc %eax
	.size falls, .-falls
	nop
	.type middle,@function
middle: cmp $1,%edi; je 1f+1
	.byte 0xb8
1:	.byte 0xb8,0x31,0xc0,0xc3,0xc3
	ret
	.size middle, .-middle
	.type reads,@function
	.globl table
	.type table,@function
table: jmp 1f
	.byte 0xc3, 0x0f, 0xff, 0xc3, 0xc3, 0x06
1:	mov $7,%eax; ret
	.size table, .-table`
	path := buildSwitched(t, code, false).program
	for name, why := range map[string]string{
		"tail": "leaves by a jump", "vtail": "to an address that it computes", "unsized": "no size", "never": "no return instruction", "falls": "behind its end", "middle": "overlap",
	} {
		if _, err := attach.Open(t.Context(), []string{"uretprobe:" + path + ":" + name}, nil); !errors.Is(err, attach.ErrUnsafe) || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: error %v, want %q", name, err, why)
		}
	}
	// Bytes between instructions are no returns.
	plan, err := attach.Find(t.Context(), []string{"uretprobe:" + path + ":table"}, nil)
	if err != nil || len(plan) != 1 || plan[0].Reason != nil || plan[0].Probe.Displacement() != 13 {
		t.Errorf("a function with data: %+v, error %v", slices.Collect(maps.Keys(map[error]bool{err: true})), err)
	}
}
