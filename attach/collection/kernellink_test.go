package collection_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/features"
	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/attach/collection"
	"github.com/go-usdt/usdt/internal/systest/bpf"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// sectionCounts are the programs of testdata/sections.bpf.c that Attach attaches.
var sectionCounts = []string{"kprobed", "kretprobed", "traced", "exited", "raw", "entered", "left", "called", "returned",
	"raw_writable", "many", "many_returned", "both"}

// withoutKprobes reports whether the kernel was built without kprobes. Then it has no trampolines for
// functions either, and replaces none.
func withoutKprobes() bool {
	_, err := os.Stat("/sys/bus/event_source/devices/kprobe")
	return errors.Is(err, os.ErrNotExist)
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
	for name, lacks := range lacks {
		only := &ebpf.CollectionSpec{Programs: map[string]*ebpf.ProgramSpec{name: spec.Programs[name]}, Maps: spec.Maps, Types: spec.Types}
		c, err := collection.New(t.Context(), only, nil)
		if err == nil {
			err = c.Attach(t.Context())
			c.Close()
		}
		// Linux has trampolines on arm64 since 6.4.
		if err != nil && (lacks || errors.Is(err, ebpf.ErrNotSupported)) {
			t.Log(err)
			delete(spec.Programs, name)
			missing[name] = true
		}
	}
	c := newCollection(t, spec, &collection.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	if d := cmp.Diff([]string{"anywhere", "sampled", "unheard_of"}, c.Left()); d != "" {
		t.Errorf("left to the caller (-want +got):\n%s", d)
	}
	counts := func() (n [13]uint64) {
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
		if name != "kprobed" && name != "traced" && name != "called" {
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
		{"kprobed", "do_sys_openat2", "program kprobed is attached to no_such_function by Attach, and to nothing else"},
		{"called", "uretprobe:" + path + ":fire", "the program is in a section for uprobe:PATH:FUNC"},
		{"called", "uprobe:" + path + ":fire", ""},
		{"called", path + ":fire", ""},
	} {
		_, err := c.AttachProgram(t.Context(), test.program, test.selector, nil)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("attach %s to %s: %v, want %q", test.program, test.selector, err, test.want)
		}
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
