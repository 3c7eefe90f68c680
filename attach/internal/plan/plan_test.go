package plan

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/sys"
	"github.com/go-usdt/usdt/internal/systest/probed"
	"github.com/go-usdt/usdt/reader"
)

// planned is what a test expects of a site.
type planned struct {
	site   probed.Site
	reason string // "" if it is accepted
	is     error
	note   string // one of them
	moved  uint64
}

// planner returns a planner for a kernel that optimises as some, where warnings may end
// the host if panics.
func planner(t *testing.T, force bool, kernel sys.Optimization, panics bool) *Planner {
	pl := New(force, func([]byte) bool { return false })
	pl.optimization, pl.panics, pl.pageSize = kernel, panics, 4096
	t.Cleanup(pl.Objects.Close)
	return pl
}

// decide plans all probes of a file, and compares.
func decide(t *testing.T, pl *Planner, o probed.Object, pid int, want []planned) {
	t.Helper()
	for _, w := range want {
		o.Sites = append(o.Sites, w.site)
	}
	f, err := reader.Open(o.Write(t, "lib.so"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	i := 0
	for p, err := range f.Probes() {
		if err != nil {
			t.Fatal(err)
		}
		w := want[i]
		i++
		got := pl.Plan(&p, pid)
		switch {
		case w.reason == "" && got.Reason != nil, w.reason != "" && (got.Reason == nil || !strings.Contains(got.Reason.Error(), w.reason)), w.is != nil && !errors.Is(got.Reason, w.is):
			t.Errorf("%s:%s: reason %v, want %q", p.Provider, p.Name, got.Reason, w.reason)
		case w.note == "" && len(got.Notes) > 0, w.note != "" && !slices.ContainsFunc(got.Notes, func(n string) bool { return strings.Contains(n, w.note) }):
			t.Errorf("%s:%s: notes %q, want %q", p.Provider, p.Name, got.Notes, w.note)
		case got.Offset != p.Offset+w.moved:
			t.Errorf("%s:%s: moved by %d, want %d", p.Provider, p.Name, got.Offset-p.Offset, w.moved)
		}
	}
	if i != len(want) {
		t.Errorf("%d probes, want %d", i, len(want))
	}
}

// TestPlan plans files for several kernels.
func TestPlan(t *testing.T) {
	behind := slices.Concat(nop1, nop10)
	site := func(name string, code ...byte) probed.Site {
		return probed.Site{Provider: "p", Name: name, Code: code, Semaphore: true}
	}
	for _, test := range []struct {
		name   string
		force  bool
		kernel sys.Optimization
		panics bool
		want   []planned
	}{
		{"old", false, sys.NoOptimization, false, []planned{
			{site: site("nop")}, {site: site("nop5", nop5...)}, {site: site("nop10", nop10...), reason: "cannot probe"}, {site: site("behind", behind...)},
			{site: site("int3", 0xcc), reason: "byte 0xcc"}, {site: site("syscall", 0x0f, 0x05), reason: "a system call would return", is: ErrUnsafe},
		}},
		{"nop5", false, sys.OptimizesNop5, false, []planned{
			{site: site("nop5", nop5...), reason: "a nop5", is: ErrUnsafe}, {site: site("both", slices.Concat(nop1, nop5)...), note: "stays on the nop"},
		}},
		{"nop5, forced", true, sys.OptimizesNop5, false, []planned{{site: site("nop5", nop5...), note: "forced: the site is a nop5"}}},
		{"nop10", false, sys.OptimizesNop10, false, []planned{
			{site: site("nop10", nop10...)}, {site: site("behind", behind...), note: "on the nop10", moved: 1},
		}},
		{"nop10, panics", false, sys.OptimizesNop10, true, []planned{
			{site: site("nop10", nop10...), reason: "replaces by a call", is: ErrPanic}, {site: site("behind", behind...), note: "kernel.panic_on_warn"},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			decide(t, planner(t, test.force, test.kernel, test.panics), probed.Object{}, 0, test.want)
		})
	}
}

// TestSharedSite plans notes that have a place in common.
func TestSharedSite(t *testing.T) {
	site := func(name, args string, with int, semaphore bool) probed.Site {
		return probed.Site{Provider: "p", Name: name, Args: args, With: with, Semaphore: semaphore}
	}
	decide(t, planner(t, false, sys.NoOptimization, false), probed.Object{}, 0, []planned{
		{site: site("one", "8@%rdi", 0, false), note: "p:two is at the same address"},
		{site: site("two", "8@%rdi", 1, false), note: "p:one is at the same address"},
		{site: site("one", "8@%rdi", 1, false), reason: "another note of the probe at this address is attached to, and the site fires once"},
		{site: site("two", "4@%edi", 1, false), reason: `it has the arguments "8@%rdi", and this one "4@%edi"`},
		{site: site("alone", "", 0, false)},
		{site: site("a", "", 0, true), note: "p:b, p:c, p:d and others are"},
		{site: site("b", "", 6, true), reason: "with another semaphore"},
		{site: site("a", "", 6, true), reason: "they have two semaphores"},
		{site: site("c", "", 6, true), reason: "with another semaphore"},
		{site: site("d", "", 6, true), reason: "with another semaphore"},
		{site: site("e", "", 6, true), reason: "with another semaphore"},
	})
}

// TestCopies refuses what copies its code, by names in the file and in the process.
func TestCopies(t *testing.T) {
	one := []planned{{site: probed.Site{Provider: "p", Name: "n"}}}
	copier := probed.Site{Name: "remapExecutable"}
	refused := []planned{{site: probed.Site{Provider: "p", Name: "n"}, reason: "it has remapExecutable, which copies code", is: ErrUnsafe}}
	decide(t, planner(t, false, sys.NoOptimization, false), probed.Object{Sites: []probed.Site{copier}}, 0, refused)
	decide(t, planner(t, true, sys.NoOptimization, false), probed.Object{Sites: []probed.Site{copier}}, 0, []planned{{site: one[0].site, note: "forced: it has remapExecutable"}})
	decide(t, planner(t, false, sys.NoOptimization, false), probed.Object{}, os.Getpid(), one)

	// Node.js copies its code in a process that asks for it only.
	node := probed.Object{Sites: []probed.Site{{Name: "ToLargePages"}}}
	decide(t, planner(t, false, sys.NoOptimization, false), node, os.Getpid(), one)
	cmd := exec.Command("sleep", "60")
	cmd.Env = []string{"NODE_OPTIONS=--use-largepages=on"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	decide(t, planner(t, false, sys.NoOptimization, false), node, cmd.Process.Pid, []planned{{site: one[0].site, reason: "it has ToLargePages"}})
	if got := copierOf(1 << 30); got != "" {
		t.Errorf("no process: got %q", got)
	}
}

// TestUnplanned checks errors of probes whose file says that they have no site, and of files
// that are gone or replaced.
func TestUnplanned(t *testing.T) {
	o := probed.Object{Sites: []probed.Site{{Provider: "p", Name: "n"}}}
	path := o.Write(t, "lib.so")
	f, err := reader.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var probe reader.Probe
	for p, err := range f.Probes() {
		if err != nil {
			t.Fatal(err)
		}
		probe = p
	}
	pl := planner(t, false, sys.NoOptimization, false)
	for name, test := range map[string]struct {
		change func(*reader.Probe)
		pid    int
		reason string // "" if it is accepted
	}{
		"as it is":                  {func(p *reader.Probe) {}, 0, ""},
		"no site":                   {func(p *reader.Probe) { p.SiteErr = errors.New("not loaded") }, 0, "not loaded"},
		"unknown boundary":          {func(p *reader.Probe) { p.SiteErr = reader.ErrBoundary }, 0, "boundaries are unknown"},
		"another machine":           {func(p *reader.Probe) { p.Machine = 258 }, 0, "EM_LOONGARCH"},
		"no file":                   {func(p *reader.Probe) { p.Path += ".gone" }, 0, "no such file"},
		"another file":              {func(p *reader.Probe) { p.Path = o.Write(t, "lib.so") }, 0, "has been replaced"},
		"beyond the end":            {func(p *reader.Probe) { p.Offset = 1 << 20 }, 0, "lies beyond the end of"},
		"semaphore in RELRO":        {func(p *reader.Probe) { p.SemaphoreErr = reader.ErrRelro }, 0, "would stay silent"},
		"semaphore in .bss":         {func(p *reader.Probe) { p.SemaphoreErr, p.SemaphoreOffset = reader.ErrBss, 16 }, 0, "would stay silent"},
		"semaphore in .bss, by PID": {func(p *reader.Probe) { p.SemaphoreErr, p.SemaphoreOffset = reader.ErrBss, 16 }, os.Getpid(), ""},
		"miscounted":                {func(p *reader.Probe) { p.SemaphoreErr = reader.ErrMiscounted }, 0, ""},
	} {
		p := probe
		test.change(&p)
		pl.taken = map[takenSite]*reader.Probe{}
		got := pl.Plan(&p, test.pid)
		if (got.Reason == nil) != (test.reason == "") || got.Reason != nil && !strings.Contains(got.Reason.Error(), test.reason) {
			t.Errorf("%s: reason %v, want %q", name, got.Reason, test.reason)
		}
	}
	pl.force, probe.SiteErr = true, reader.ErrBoundary
	if got := pl.Plan(&probe, 0); got.Reason != nil || len(got.Notes) != 1 {
		t.Errorf("forced: %v, %q", got.Reason, got.Notes)
	}
}

// TestReturns plans returns, entries and instructions of functions by their names, their
// code and what else is in the file.
func TestReturns(t *testing.T) {
	for _, test := range []struct {
		name   string
		others []string // functions in the same file
		entry  string   // reason to refuse the entry, "" for none
		ret    string   // and the return
	}{
		{"work", nil, "", ""},
		{"setjmp", nil, "", "reads its return address"},
		{"_start", nil, "", "reads its return address"},
		{"__x86.get_pc_thunk.bx", nil, "", "reads its return address"},
		{"make_jump_fcontext", nil, "", "reads its return address"},
		{"_Unwind_Resume", nil, "", "reads its return address"},
		{"work", []string{"my_swapcontext"}, "", "functions that switch stacks"},
		{"_ZN4work3runEv", nil, "", ""},
	} {
		o := probed.Object{Sites: []probed.Site{{Name: test.name, Code: []byte{0x55}}}}
		for _, other := range test.others {
			o.Sites = append(o.Sites, probed.Site{Name: other})
		}
		f, err := reader.Open(o.Write(t, "lib.so"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for fn, err := range f.Functions() {
			if err != nil {
				t.Fatal(err)
			}
			if fn.Symbols[0] != test.name {
				continue
			}
			pl := planner(t, false, sys.NoOptimization, false)
			for _, at := range []struct {
				probe reader.Probe
				want  string
			}{{fn.Entry(), test.entry}, {fn.Return(), test.ret}} {
				got := pl.Plan(&at.probe, os.Getpid())
				if (got.Reason == nil) != (at.want == "") || got.Reason != nil && !strings.Contains(got.Reason.Error(), at.want) {
					t.Errorf("%s of %s beside %q: reason %v, want %q", at.probe.Kind, test.name, test.others, got.Reason, at.want)
				}
			}
			fn.Resolver = true
			if p := fn.Entry(); !errors.Is(pl.Plan(&p, 0).Reason, ErrSilent) {
				t.Errorf("a resolver is accepted")
			}
		}
	}
}
