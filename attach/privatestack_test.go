package attach_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/attach/collection"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/reader"
)

// hasPrivateStack reports whether the machine code of a program adds the address
// of this CPU's memory to the frame pointer, on x86-64: add %gs:…,%r9.
func hasPrivateStack(t testing.TB, prog *ebpf.Program) bool {
	t.Helper()
	info, err := prog.Info()
	if err != nil {
		t.Fatal(err)
	}
	code, ok := info.JitedInsns()
	if !ok {
		needs.Skip(t, "the kernel does not show the machine code of programs")
	}
	return bytes.Contains(code, []byte{0x65, 0x4c, 0x03, 0x0c, 0x25})
}

// needPrivateStacks skips the test if the kernel gives programs no private stack.
func needPrivateStacks(t testing.TB) {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is for x86-64")
	}
	spec := readSpec(t, compileBPF(t, "testdata/stack.bpf.c"))
	for name := range spec.Programs {
		if name != "large" {
			delete(spec.Programs, name)
		}
	}
	c := newCollection(t, spec, &collection.Options{PrivateStack: true})
	if hasPrivateStack(t, c.Programs["large"]) {
		return
	}
	var u unix.Utsname
	var version, minor int
	if err := unix.Uname(&u); err != nil {
		t.Fatal(err)
	}
	fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &version, &minor)
	if version > 6 || version == 6 && minor >= 13 {
		t.Fatalf("Linux %d.%d has given a program of 200 bytes of stack no private one, or this test does not see it", version, minor)
	}
	needs.Skip(t, "this kernel has no private stacks")
}

// ownPrograms returns the programs that this process has descriptors of, and
// whether each has a private stack.
func ownPrograms(t testing.TB) map[ebpf.ProgramID]bool {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	all := map[ebpf.ProgramID]bool{}
	look := func(fd int) error {
		fd, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return err
		}
		prog, err := ebpf.NewProgramFromFD(fd)
		if err != nil {
			return err
		}
		defer prog.Close()
		info, err := prog.Info()
		if err != nil {
			return err
		}
		id, _ := info.ID()
		all[id] = hasPrivateStack(t, prog)
		return nil
	}
	for _, e := range entries {
		if target, _ := os.Readlink("/proc/self/fd/" + e.Name()); target != "anon_inode:bpf-prog" {
			continue
		}
		fd, err := strconv.Atoi(e.Name())
		if err == nil {
			err = look(fd)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// TestNoPrivateStack checks that no generated program has a private stack: of
// sessions with conditions and text, aggregates and latencies, of probes and of
// functions.
func TestNoPrivateStack(t *testing.T) {
	needPrivateStacks(t)
	p := startChild(t, "latency")
	p.Do("load")
	path := compile(t, "gcc", "-O2")
	c := start(t, exec.Command(path))
	pids := func(p *tracee.Program) *attach.Options {
		return &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}}
	}
	for what, open := range map[string]func(){
		"records": func() { open(t, "lat:*", pids(p)) },
		"untyped": func() { open(t, path+":args:*", pids(c)) },
		"condition": func() {
			open(t, "lat:*", &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Where: `path ~ "*a*" && id > 7`})
		},
		"function": func() { open(t, "uprobe:"+path+":fire", pids(c)) },
		"results":  func() { open(t, "uretprobe:"+path+":fire", pids(c)) },
		"aggregate": func() {
			openAggregate(t, []string{"lat:end"}, attach.Hist("id").And(attach.Sum("id")).By("path", "pid"), pids(p))
		},
		"numbers": func() {
			openAggregate(t, []string{"lat:end"}, attach.Sum("code").By("id", "probe"), pids(p))
		},
		"latency": func() { openLatency(t, &attach.LatencyOptions{Key: []string{"id"}, By: []string{"path"}}, pids(p)) },
	} {
		before := ownPrograms(t)
		open()
		after := ownPrograms(t)
		if len(after) == len(before) {
			t.Errorf("%s: the session has no program", what)
		}
		for id, private := range after {
			if _, known := before[id]; !known && private {
				t.Errorf("%s: a program has a private stack", what)
			}
		}
	}
}

// TestCollectionStack checks which programs of a collection are kept from having
// a private stack, that they run, and that Plan says so.
func TestCollectionStack(t *testing.T) {
	needPrivateStacks(t)
	object := compileBPF(t, "testdata/stack.bpf.c")
	path := compile(t, "gcc", "-O2")
	p := start(t, exec.Command(path))
	remark := func(s *attach.Site) bool {
		return slices.ContainsFunc(s.Notes, func(note string) bool { return strings.Contains(note, "tail call") })
	}
	run := func(opts collection.Options, names ...string) (private, remarked map[string]bool) {
		t.Helper()
		spec := readSpec(t, object)
		delete(spec.Programs, "deeper")
		opts.Target.PIDs = []int{p.PID()}
		c := newCollection(t, spec, &opts)
		private, remarked = map[string]bool{}, map[string]bool{}
		for name, prog := range c.Programs {
			private[name] = hasPrivateStack(t, prog)
		}
		for _, name := range names {
			a := attachProgram(t, c, name, path+":args:bare", &collection.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
			plan := a.Plan()
			if plan.Attached() != 1 {
				t.Fatalf("%s: plan %+v", name, plan)
			}
			remarked[name] = remark(&plan[0])
		}
		p.Do("")
		for key := uint32(1); key <= 6; key++ {
			var n uint64
			if err := c.Maps["fired"].Lookup(key, &n); err != nil || n != 1 {
				t.Errorf("program that counts at %d has counted %d times (%v), want once", key, n, err)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		return private, remarked
	}
	attached := []string{"small", "large", "calls", "sleeps", "tails"}
	private, remarked := run(collection.Options{}, attached...)
	for name, has := range private {
		if want := name == "kernel"; has != want {
			t.Errorf("%s has a private stack: %v, want %v", name, has, want)
		}
	}
	for _, name := range attached {
		if want := name == "large" || name == "calls" || name == "sleeps"; remarked[name] != want {
			t.Errorf("%s has a remark: %v, want %v", name, remarked[name], want)
		}
	}
	private, remarked = run(collection.Options{PrivateStack: true}, attached...)
	for _, name := range attached {
		if want := name == "large" || name == "calls" || name == "sleeps"; private[name] != want || remarked[name] {
			t.Errorf("%s with PrivateStack: has one: %v, want %v, remark: %v", name, private[name], want, remarked[name])
		}
	}
}

// TestCollectionStackTooSmall checks that a program which needs more than the
// task's stack loads with the option PrivateStack, and that the error without it
// says so.
func TestCollectionStackTooSmall(t *testing.T) {
	needPrivateStacks(t)
	spec := readSpec(t, compileBPF(t, "testdata/stack.bpf.c"))
	for name := range spec.Programs {
		if name != "deeper" {
			delete(spec.Programs, name)
		}
	}
	c, err := collection.New(t.Context(), spec, nil)
	if err == nil {
		c.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "Options.PrivateStack") {
		t.Errorf("error %v, want one that names the option", err)
	}
	newCollection(t, spec, &collection.Options{PrivateStack: true})
}

// TestOwnStack checks that Plan says which of the caller's programs have a
// private stack.
func TestOwnStack(t *testing.T) {
	needPrivateStacks(t)
	spec := readSpec(t, compileBPF(t, "testdata/stack.bpf.c"))
	delete(spec.Programs, "deeper")
	for _, p := range spec.Programs {
		p.AttachType = ebpf.AttachNone
	}
	own, err := ebpf.NewCollection(spec)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	path := compile(t, "gcc", "-O2")
	p := start(t, exec.Command(path))
	probes := []reader.Probe{liveProbe(t, p.PID(), "args:bare")}
	for name, want := range map[string]bool{"small": false, "large": true, "calls": true, "tails": false, "left": true} {
		a, err := attach.AttachProbes(own.Programs[name], probes, &attach.ProgramOptions{Target: attach.Target{PIDs: []int{p.PID()}}, Link: attach.PerfLink})
		if err != nil {
			needPrivileges(t, err)
			t.Fatal(err)
		}
		notes := strings.Join(a.Plan()[0].Notes, "\n")
		if got := strings.Contains(notes, "a stack per CPU"); got != want {
			t.Errorf("%s: remark is there: %v, want %v, in %q", name, got, want, notes)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}
