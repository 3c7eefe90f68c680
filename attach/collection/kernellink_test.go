package collection_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/features"
	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/attach/collection"
	"github.com/go-usdt/usdt/internal/systest/bpf"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// sectionCounts are the programs of testdata/sections.bpf.c that Attach attaches.
var sectionCounts = []string{"kprobed", "kretprobed", "traced", "exited", "raw", "entered", "left", "called", "returned",
	"raw_writable", "many", "many_returned", "both", "many_entered", "many_left", "many_both"}

// byTrampolines are programs for links of many functions by trampolines.
var byTrampolines = []string{"many_entered", "many_left", "many_both"}

// withoutKprobes reports whether the kernel was built without kprobes. Then it has no trampolines for
// functions either, and replaces none.
func withoutKprobes() bool {
	_, err := os.Stat("/sys/bus/event_source/devices/kprobe")
	return errors.Is(err, os.ErrNotExist)
}

// hasTrampolinesOfMany reports whether the kernel is one that has links of many functions by trampolines.
func hasTrampolinesOfMany(t *testing.T) bool {
	t.Helper()
	version, err := features.LinuxVersionCode()
	if err != nil {
		t.Fatal(err)
	}
	return version >= 7<<16|2<<8 && runtime.GOARCH == "amd64"
}

// TestSections attaches what a skeleton of libbpf attaches, twice: programs of the kernel's
// functions and tracepoints beside those of a file's functions.
func TestSections(t *testing.T) {
	path := compile(t, "gcc", "-O2")
	p := start(t, exec.Command(path))
	spec := bpf.ReadSpec(t, needs.CompileBPF(t, "testdata/sections.bpf.c"))
	for _, name := range []string{"called", "returned"} {
		spec.Programs[name].AttachTo = path + ":fire"
	}
	if err := errors.Join(spec.Variables["pid"].Set(int32(os.Getpid())), collection.SetPIDNamespace(spec.Variables["namespace"])); err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	without := withoutKprobes()
	lacks := map[string]bool{
		"kprobed": without, "kretprobed": without, "entered": without, "left": without,
		"many":          without || features.HaveBPFLinkKprobeMulti() != nil,
		"many_returned": without || features.HaveBPFLinkKprobeMulti() != nil,
		"both":          without || features.HaveBPFLinkKprobeSession() != nil,
	}
	for _, name := range byTrampolines {
		lacks[name] = without || !hasTrampolinesOfMany(t)
	}
	for name, lacks := range lacks {
		only := &ebpf.CollectionSpec{Programs: map[string]*ebpf.ProgramSpec{name: spec.Programs[name]}, Maps: spec.Maps, Types: spec.Types}
		c, err := collection.New(t.Context(), only, nil)
		if err == nil {
			err = c.Attach(t.Context())
			c.Close()
		}
		// Linux has trampolines on arm64 since 6.4.
		if err != nil && (lacks || runtime.GOARCH == "arm64" && errors.Is(err, ebpf.ErrNotSupported)) {
			t.Log(err)
			delete(spec.Programs, name)
			missing[name] = true
		}
	}
	c := newCollection(t, spec, &collection.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	if d := cmp.Diff([]string{"sampled", "unheard_of"}, c.Left()); d != "" {
		t.Errorf("left to the caller (-want +got):\n%s", d)
	}
	counts := func() (n [16]uint64) {
		t.Helper()
		if err := c.Variables["seen"].Get(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	act := func() {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		if err := c.Variables["pid"].Set(int32(p.PID())); err != nil {
			t.Fatal(err)
		}
		p.Do("")
		if err := c.Variables["pid"].Set(int32(os.Getpid())); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		for range 2 { // the second call finds everything attached
			if err := c.Attach(ctx); err != nil {
				t.Fatal(err)
			}
		}
		before := counts()
		act()
		now := counts()
		for i, name := range sectionCounts {
			n := now[i] - before[i]
			if missing[name] != (n == 0) || slices.Contains([]string{"called", "returned"}, name) && n != 1 {
				t.Errorf("round %d: %s ran %d times", round, name, n)
			}
		}
		cancel()
		awaitSites(t, c, "called", 0)
		awaitSites(t, c, "returned", 0)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// TestSectionsRefused attaches to what does not exist, or is not for the program's section.
func TestSectionsRefused(t *testing.T) {
	spec := bpf.ReadSpec(t, needs.CompileBPF(t, "testdata/sections.bpf.c"))
	for name := range spec.Programs {
		if name != "kprobed" && name != "traced" && name != "called" && name != "raw" {
			delete(spec.Programs, name)
		}
	}
	spec.Programs["kprobed"].AttachTo = "no_such_function"
	spec.Programs["traced"].AttachTo = "sys_enter_openat"
	path := compile(t, "gcc", "-O2")
	spec.Programs["called"].AttachTo = path + ":fire"
	c := newCollection(t, spec, nil)
	err := c.Attach(t.Context())
	for _, want := range []string{"attach kprobed: attach to no_such_function", `attach traced: attach to sys_enter_openat: "sys_enter_openat" is no tracepoint: want GROUP/NAME`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one with %q", err, want)
		}
	}
	for _, test := range []struct{ program, selector, want string }{
		{"raw", "sys_exit", "program raw was loaded for sys_enter, to which Attach attaches it, and for nothing else"},
		{"kprobed", "tracepoint:syscalls:sys_enter_openat", "the program is in a section for kprobe:FUNC"},
		{"traced", "kprobe:do_sys_openat2", "the program is in a section for tracepoint:SYSTEM:EVENT"},
		{"called", "kprobe:do_sys_openat2", "the program is in a section for uprobe:PATH:FUNC"},
		{"called", "uretprobe:" + path + ":fire", "the program is in a section for uprobe:PATH:FUNC"},
		{"called", "uprobe:" + path + ":fire", ""},
		{"called", path + ":fire", ""},
	} {
		_, err := c.AttachProgram(t.Context(), test.program, test.selector, nil)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("attach %s to %s: %v, want %q", test.program, test.selector, err, test.want)
		}
	}
	// Nobody waits for what the kernel lacks.
	_, err = c.AttachProgram(t.Context(), "traced", "tracepoint:syscalls:no_such", &collection.Options{Await: true, Rescan: time.Hour})
	if !errors.Is(err, attach.ErrNoMatch) {
		t.Errorf("a tracepoint that does not exist: %v", err)
	}
}

// TestKernelSelectors attaches programs whose sections name nothing, or nothing that is to be attached
// to, to functions and tracepoints of the kernel that selectors name.
func TestKernelSelectors(t *testing.T) {
	path := compile(t, "gcc", "-O2")
	spec := bpf.ReadSpec(t, needs.CompileBPF(t, "testdata/sections.bpf.c"))
	selectors := map[string][]string{
		"traced":        {"tracepoint:syscalls:sys_enter_openat", "syscalls:sys_enter_opena?"},
		"kprobed":       {"kprobe:do_sys_openat2", "do_sys_openat2"},
		"kretprobed":    {"kretprobe:do_sys_openat2"},
		"many":          {"kprobe:do_sys_openat?"},
		"many_returned": {"do_sys_openat2"},
		"both":          {"kprobe:do_sys_openat2"},
		"many_entered":  {"fentry:do_sys_openat2", "do_sys_openat?", "fentry:vmlinux:do_sys_openat?"},
		"many_left":     {"do_sys_openat2"},
		"many_both":     {"fentry:do_sys_openat?"},
		"called":        {"uprobe:" + path + ":fire", path + ":fire"},
	}
	number := map[string]int{}
	for i, name := range sectionCounts {
		number[name] = i
	}
	if err := errors.Join(spec.Variables["pid"].Set(int32(os.Getpid())), collection.SetPIDNamespace(spec.Variables["namespace"])); err != nil {
		t.Fatal(err)
	}
	p := start(t, exec.Command(path))
	lacks := map[string]error{"many": features.HaveBPFLinkKprobeMulti(), "many_returned": features.HaveBPFLinkKprobeMulti(), "both": features.HaveBPFLinkKprobeSession()}
	for name, these := range selectors {
		if lacks[name] != nil {
			t.Log(name, lacks[name])
			continue
		}
		spec := spec.Copy()
		for other := range spec.Programs {
			if other != name {
				delete(spec.Programs, other)
			}
		}
		spec.Programs[name].AttachTo = ""
		if name == "called" {
			spec.Programs[name].SectionName = "uprobe"
		}
		if slices.Contains(byTrampolines, name) && (withoutKprobes() || !hasTrampolinesOfMany(t)) {
			if _, err := collection.New(t.Context(), spec, nil); !errors.Is(err, ebpf.ErrNotSupported) || !strings.Contains(err.Error(), "Linux 7.2") {
				t.Errorf("%s on a kernel without such links: %v", name, err)
			}
			continue
		}
		c := newCollection(t, spec, nil)
		if left := c.Left(); len(left) > 0 {
			t.Errorf("%s is left to the caller", left)
		}
		for _, selector := range these {
			a, err := c.AttachProgram(t.Context(), name, selector, nil)
			if withoutKprobes() && name != "traced" && name != "called" {
				if !errors.Is(err, ebpf.ErrNotSupported) {
					t.Errorf("%s on a kernel without kprobes: %v", name, err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s to %s: %v", name, selector, err)
			}
			count := func() (n uint64) {
				t.Helper()
				pid := int32(os.Getpid())
				if name == "called" {
					pid = int32(p.PID())
				}
				if err := c.Variables["pid"].Set(pid); err != nil {
					t.Fatal(err)
				}
				var before, after [16]uint64
				if err := c.Variables["seen"].Get(&before); err != nil {
					t.Fatal(err)
				}
				f, err := os.Open(path)
				if err != nil {
					t.Fatal(err)
				}
				f.Close()
				p.Do("")
				if err := c.Variables["seen"].Get(&after); err != nil {
					t.Fatal(err)
				}
				return after[number[name]] - before[number[name]]
			}
			if n := count(); n == 0 {
				t.Errorf("%s at %s did not run", name, selector)
			}
			if links, err := a.Links(); err != nil || len(links) != 1 || a.Plan().Attached() != 1 {
				t.Errorf("%s at %s: %d links, error %v, %d sites attached; want one", name, selector, len(links), err, a.Plan().Attached())
			} else {
				links[0].Close()
			}
			if err := errors.Join(a.Close(), a.Wait(t.Context())); err != nil {
				t.Error(err)
			}
			if n := count(); n != 0 {
				t.Errorf("%s at %s ran %d times after Close", name, selector, n)
			}
		}
		if name != "called" {
			_, err := c.AttachProgram(t.Context(), name, these[0], &collection.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}})
			if option := (*attach.OptionError)(nil); !errors.As(err, &option) {
				t.Errorf("%s in one process: got error %v, want an OptionError", name, err)
			}
		}
	}
}

// TestManyTrampolines attaches programs to many functions of the kernel by trampolines, also where the kernel refuses
// one or has two names for it. Functions of a module are refused.
func TestManyTrampolines(t *testing.T) {
	if withoutKprobes() || !hasTrampolinesOfMany(t) {
		return // TestKernelSelectors checks the errors of such kernels
	}
	needs.Loop(t)
	spec := bpf.ReadSpec(t, needs.CompileBPF(t, "testdata/sections.bpf.c"))
	for name, p := range spec.Programs {
		if p.AttachTo = ""; !slices.Contains(byTrampolines, name) {
			delete(spec.Programs, name)
		}
	}
	c := newCollection(t, spec, nil)
	for _, test := range []struct {
		program, selector string
		attached, refused int    // at least
		why               string // is in the reason of each that is refused
	}{
		{"many_entered", "fentry:vfs_*", 40, 0, ""},
		{"many_left", "fexit:do_e*", 1, 2, "trampoline"},
		{"many_both", "fentry:__*_sys_munlockall", 1, 0, ""}, // names of one function
	} {
		a, err := c.AttachProgram(t.Context(), test.program, test.selector, nil)
		if err != nil {
			t.Errorf("%s: %v", test.selector, err)
			continue
		}
		attached, refused := 0, 0
		for _, s := range a.Plan() {
			if s.Attached {
				attached++
				continue
			}
			refused++
			if s.Reason == nil || !strings.Contains(s.Reason.Error(), test.why) {
				t.Errorf("%s: %s is refused: %v, want %q", test.selector, s.Probe.Name, s.Reason, test.why)
			}
		}
		links, err := a.Links()
		if attached < test.attached || refused < test.refused || err != nil || len(links) != min(attached, 1) {
			t.Errorf("%s: attached to %d by %d links, %d refused, error %v", test.selector, attached, len(links), refused, err)
		}
		for _, l := range links {
			l.Close()
		}
		if err := errors.Join(a.Close(), a.Wait(t.Context())); err != nil {
			t.Error(err)
		}
	}
	for selector, want := range map[string]string{
		"fentry:loop:lo_*": "module loop has it",
		"fentry:*":         "a trampoline at each of the kernel's functions",
		"fentry:*_*":       "functions of the kernel slow down the whole machine",
		"fexit:vfs_*":      "the program is in a section for fentry:FUNC",
		"fentry:no_fun":    "no probe matches fentry:no_fun in the kernel",
	} {
		if _, err := c.AttachProgram(t.Context(), "many_entered", selector, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want one with %q", selector, err, want)
		}
	}
	spec.Programs["many_left"] = &ebpf.ProgramSpec{ // as an author writes one in Go
		Name: "written", Type: ebpf.Tracing, SectionName: "fexit.multi/vfs_*", License: "GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
	}
	c = newCollection(t, spec, nil)
	if err := c.Attach(t.Context()); err != nil || c.Plan("many_left").Attached() < 40 {
		t.Errorf("a program that was written in Go: error %v, attached to %d functions", err, c.Plan("many_left").Attached())
	}
}

// TestReplacement attaches a program in the place of another one's function.
func TestReplacement(t *testing.T) {
	c := newCollection(t, bpf.ReadSpec(t, needs.CompileBPF(t, "testdata/replace.bpf.c")), nil)
	spec := bpf.ReadSpec(t, needs.CompileBPF(t, "testdata/replace.bpf.c", "-DREPLACEMENT"))
	spec.Programs["other"].AttachTarget = c.Programs["asks"]
	answer := func() uint32 {
		answer, _, err := c.Programs["asks"].Test(make([]byte, 14)) // a frame
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	before := answer()
	r, err := collection.New(t.Context(), spec, nil)
	if err != nil && withoutKprobes() {
		t.Log(err)
		return
	}
	if err == nil {
		defer r.Close()
		err = r.Attach(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	if now := answer(); before != 1 || now != 42 {
		t.Errorf("the program returns %d, and %d with its function replaced; want 1 and 42", before, now)
	}
	if err := r.Close(); err != nil || answer() != 1 {
		t.Errorf("it returns %d afterwards, want 1; error %v", answer(), err)
	}
}
