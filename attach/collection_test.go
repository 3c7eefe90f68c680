package attach_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/features"
	"github.com/cilium/ebpf/ringbuf"
	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/reader"
)

// newestObject is testdata/collection.bpf.c compiled with libbpf 1.7.
const newestObject = "testdata/collection-1.7.o"

// compileBPF compiles C for BPF with the libbpf-dev that is installed.
func compileBPF(t testing.TB, source string, flags ...string) string {
	t.Helper()
	if _, err := exec.LookPath("clang"); err != nil {
		skip(t, "needs clang: %v", err)
	}
	if _, err := os.Stat("/usr/include/bpf/usdt.bpf.h"); err != nil {
		skip(t, "needs libbpf-dev: %v", err)
	}
	machine := map[string][2]string{"amd64": {"x86", "x86_64-linux-gnu"}, "arm64": {"arm64", "aarch64-linux-gnu"}}[runtime.GOARCH]
	out := filepath.Join(t.TempDir(), "collection.o")
	args := append([]string{"-O2", "-g", "-target", "bpf", "-D__TARGET_ARCH_" + machine[0], "-I/usr/include/" + machine[1], "-c", source, "-o", out}, flags...)
	if msg, err := exec.Command("clang", args...).CombinedOutput(); err != nil {
		t.Fatalf("clang %v: %v\n%s", args, err, msg)
	}
	return out
}

func readSpec(t testing.TB, object string) *ebpf.CollectionSpec {
	t.Helper()
	f, err := os.Open(object)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	spec, err := attach.LoadCollectionSpec(f)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func newCollection(t testing.TB, spec *ebpf.CollectionSpec, opts *attach.Options) *attach.Collection {
	t.Helper()
	c, err := attach.NewCollection(spec, opts)
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func attachProgram(t testing.TB, c *attach.Collection, program, selector string, opts *attach.Options) *attach.Attachment {
	t.Helper()
	a, err := c.AttachProgram(program, selector, opts)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// collectionEvent is struct event of testdata/collection.bpf.c.
type collectionEvent struct {
	Program       uint32
	Count         int32
	Cookie        int64
	Args          [12]int64
	Errors, Sizes [12]int32
}

// firings returns what the programs of a collection have sent.
func firings(t testing.TB, c *attach.Collection) []collectionEvent {
	t.Helper()
	r, err := ringbuf.NewReader(c.Maps["events"])
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.SetDeadline(time.Unix(1, 0))
	var all []collectionEvent
	for {
		rec, err := r.Read()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return all
		}
		var ev collectionEvent
		if err == nil {
			_, err = binary.Decode(rec.RawSample, binary.NativeEndian, &ev)
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ev)
	}
}

// TestCollectionArguments compares what programs compiled from C read with what
// the traced program fires, for objects of two versions of usdt.bpf.h.
func TestCollectionArguments(t *testing.T) {
	const einval = -22
	programs := []struct {
		command []string
		kind    attach.LinkKind
		bits    int
	}{
		{[]string{"gcc", "-O2"}, attach.AutoLink, 64},
		{[]string{"gcc", "-O2", "-no-pie", "-DSEMAPHORES"}, attach.PerfLink, 64},
		{[]string{"clang", "-O2"}, attach.AutoLink, 64},
		{i386Flags, attach.AutoLink, 32}, // whose data nobody has touched
	}
	probes := []string{"ints", "consts", "memory", "global"}
	for _, object := range []string{"installed", "newest"} {
		path := newestObject
		if object == "installed" {
			path = compileBPF(t, "testdata/collection.bpf.c")
		}
		spec := readSpec(t, path)
		indexed := object == "newest"
		for _, test := range programs {
			t.Run(fmt.Sprintf("%s/%s%d%v", object, strings.Join(test.command[:2], ""), test.bits, test.kind), func(t *testing.T) {
				target := compile(t, test.command...)
				p := start(t, exec.Command(target))
				c := newCollection(t, spec, &attach.Options{Link: test.kind, PIDs: []int{p.pid()}})
				program, number := "any", uint32(1)
				if test.bits == 32 {
					program, number = "sleepable", 2
				}
				want := wantC(test.bits)
				plans := map[string]attach.Plan{}
				for i, name := range probes {
					a := attachProgram(t, c, program, target+":args:"+name, &attach.Options{Cookie: uint64(i) - 1})
					plans[name] = a.Plan()
				}
				p.do("")
				events := firings(t, c)
				if len(events) != len(probes) {
					t.Fatalf("%d events, want one of each of %v", len(events), probes)
				}
				for i, ev := range events {
					name := probes[i]
					failed := map[int]error{}
					for _, e := range plans[name][0].ArgErrs {
						failed[e.Index] = e
					}
					if ev.Program != number || ev.Cookie != int64(i)-1 || int(ev.Count) != len(want[name]) {
						t.Errorf("%s: program %d, cookie %d, %d arguments, want %d, %d, %d", name, ev.Program, ev.Cookie, ev.Count, number, i-1, len(want[name]))
					}
					for n, w := range want[name] {
						switch err := failed[n]; {
						case err != nil:
							// Only what needs an index, and that only with the old header.
							if ev.Errors[n] != einval || ev.Args[n] != 0 || !strings.Contains(err.Error(), "indexed") || indexed {
								t.Errorf("%s: argument %d: %v, and bpf_usdt_arg gives %d, value %d", name, n, err, ev.Errors[n], ev.Args[n])
							}
						case ev.Errors[n] != 0:
							t.Errorf("%s: bpf_usdt_arg %d returns %d", name, n, ev.Errors[n])
						case ev.Args[n] != toInt64(w.Value):
							t.Errorf("%s: argument %d is %d, want %v", name, n, ev.Args[n], w.Value)
						}
						if size := ev.Sizes[n]; indexed && size != 1 && size != 2 && size != 4 && size != 8 {
							t.Errorf("%s: bpf_usdt_arg_size %d is %d", name, n, size)
						}
					}
					if n := len(want[name]); ev.Errors[n] != -2 || ev.Args[n] != 0 { // ENOENT
						t.Errorf("%s: bpf_usdt_arg %d beyond the last returns %d", name, n, ev.Errors[n])
					}
					if name == "memory" && test.command[0] == "gcc" && !indexed && len(failed) == 0 {
						t.Error("no argument of memory has an index: the test has lost its point")
					}
				}
				if err := c.Close(); err != nil {
					t.Error(err)
				}
				p.do("") // unharmed
			})
		}
	}
}

func toInt64(v any) int64 {
	if u, ok := v.(uint64); ok {
		return int64(u)
	}
	return v.(int64)
}

// TestLoadCollection has the sections of the object say what is attached.
func TestLoadCollection(t *testing.T) {
	p := start(t, exec.Command(compile(t, "gcc", "-O2", "-DSEMAPHORES")))
	b, err := os.ReadFile(compileBPF(t, "testdata/collection.bpf.c"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := attach.LoadCollection(bytes.NewReader(b), &attach.Options{PIDs: []int{p.pid()}, Cookie: 1 << 63})
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	defer c.Close()
	for name, want := range map[string]int{"ints": 1, "bare": 1, "any": 0, "left": 0, "none": 0} {
		if got := c.Plan(name).Attached(); got != want {
			t.Errorf("%s is attached to %d sites, want %d", name, got, want)
		}
	}
	p.do("")
	p.do("")
	want := collectionEvent{Program: 3, Cookie: -1 << 63}
	for i := range want.Errors {
		want.Errors[i] = -2 // ENOENT
	}
	if d := cmp.Diff([]collectionEvent{want, want}, firings(t, c)); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
	var sums []uint64
	if err := c.Maps["sum"].Lookup(uint32(0), &sums); err != nil {
		t.Fatal(err)
	}
	total := int64(0)
	for _, s := range sums {
		total += int64(s)
	}
	if want := int64(2 * (-8 + 200 - 1600)); total != want {
		t.Errorf("BPF_USDT's arguments add up to %d, want %d", total, want)
	}
	if err := errors.Join(c.Close(), c.Wait(t.Context())); err != nil {
		t.Error(err)
	}
	checkLive(t, p.pid(), "args:bare", 0x90, 0)
	if err := c.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if _, err := c.AttachProgram("any", "args:bare", nil); !errors.Is(err, os.ErrClosed) {
		t.Errorf("attach after Close: error %v, want one that wraps os.ErrClosed", err)
	}
}

// TestCollectionSteps changes a variable and what a program is attached to, and
// attaches a program that sleeps to probes declared in Go.
func TestCollectionSteps(t *testing.T) {
	p := startChild(t, "typed")
	p.do("load")
	spec := readSpec(t, newestObject)
	if err := spec.Variables["mark"].Set(uint32(100)); err != nil {
		t.Fatal(err)
	}
	spec.Programs["bare"].AttachTo = "typed:bare"
	delete(spec.Programs, "ints")
	c := newCollection(t, spec, &attach.Options{PIDs: []int{p.pid()}})
	if plan := c.Plan("bare"); len(plan) != 1 || plan.Attached() != 0 {
		t.Errorf("plan before Attach %+v, want one site, not attached", plan)
	}
	if err := c.Attach(); err != nil {
		t.Fatal(err)
	}
	attachProgram(t, c, "sleepable", "typed:ints", &attach.Options{PIDs: []int{p.pid()}, Cookie: 7})
	p.do("bare")
	p.do("ints")
	events := firings(t, c)
	if len(events) != 2 || events[0].Program != 300 || events[1].Program != 200 || events[1].Cookie != 7 {
		t.Fatalf("events %+v, want bare's and sleepable's", events)
	}
	want := [12]int64{-8, 200, -1600, 60000, -1 << 31, -1}
	if events[1].Args != want || events[1].Count != 6 {
		t.Errorf("arguments %v, want %v", events[1].Args, want)
	}
}

// specsIn returns the number of specs in a collection's map that are in use.
func specsIn(t testing.TB, c *attach.Collection) int {
	t.Helper()
	n := 0
	var id uint32
	var spec []byte
	m := c.Maps["__bpf_usdt_specs"]
	for specs := m.Iterate(); specs.Next(&id, &spec); {
		if !bytes.Equal(spec, make([]byte, m.ValueSize())) {
			n++
		}
	}
	return n
}

// TestCollectionManySpecs attaches to more sites with different arguments than
// the object's map has room for, by two programs.
func TestCollectionManySpecs(t *testing.T) {
	const specs, sites = 400, 800
	path := compileC(t, "many", "gcc", "-O2")
	p := start(t, exec.Command(path))
	spec := readSpec(t, compileBPF(t, "testdata/collection.bpf.c"))
	delete(spec.Programs, "any")
	delete(spec.Programs, "sleepable")
	for _, name := range []string{"bare", "ints"} {
		spec.Programs[name].AttachTo = path + ":many:probe"
	}
	declared := spec.Maps["__bpf_usdt_specs"].MaxEntries
	c := newCollection(t, spec, nil)
	if features.HaveBPFLinkUprobeMulti() != nil {
		t.Skip("without uprobe_multi: 1600 perf events take minutes to close")
	}
	if err := c.Attach(); err != nil {
		t.Fatal(err)
	}
	if got := c.Maps["__bpf_usdt_specs"].MaxEntries(); got < specs+256 || declared != 256 {
		t.Errorf("the map has room for %d specs where %d are declared, want for %d and more", got, declared, specs)
	}
	if got := specsIn(t, c); got != specs {
		t.Errorf("%d specs in the map for %d sites, want %d", got, sites, specs)
	}
	for _, name := range []string{"bare", "ints"} {
		if got := c.Plan(name).Attached(); got != sites {
			t.Errorf("%s is attached to %d sites, want %d", name, got, sites)
		}
	}
	p.do("")
	seen := map[int64]int{}
	for _, ev := range firings(t, c) {
		if ev.Count != 2 || ev.Args[0] != -ev.Args[1] {
			t.Errorf("%d arguments %v, want a number and its negative", ev.Count, ev.Args[:2])
		}
		seen[ev.Args[0]]++
	}
	for i := range int64(specs) {
		if seen[100+i] != 2 {
			t.Errorf("%d has fired %d times, want 2", 100+i, seen[100+i])
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// TestCollectionSpecsReused attaches again and again to what differs by its
// cookie: specs that nobody uses any more make room. When all are in use, that
// is an error which says what to do.
func TestCollectionSpecsReused(t *testing.T) {
	path := compile(t, "gcc", "-O2")
	p := start(t, exec.Command(path))
	spec := readSpec(t, newestObject)
	spec.Maps["__bpf_usdt_specs"].MaxEntries = 1
	c := newCollection(t, spec, nil)
	room := uint64(c.Maps["__bpf_usdt_specs"].MaxEntries())
	for i := range uint64(20) {
		a := attachProgram(t, c, "any", path+":args:ints", &attach.Options{Cookie: i})
		p.do("")
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		if events := firings(t, c); len(events) != 1 || events[0].Cookie != int64(i) {
			t.Errorf("events %+v, want one with cookie %d", events, i)
		}
	}
	if got := specsIn(t, c); got != 1 {
		t.Errorf("%d specs in the map, want that of the last", got)
	}
	many := compileC(t, "many", "gcc", "-O2")
	var err error
	attached := uint64(0)
	for ; err == nil && attached <= room; attached += 400 {
		_, err = c.AttachProgram("any", many+":many:*", &attach.Options{Cookie: attached})
	}
	if err == nil || !strings.Contains(err.Error(), "MaxEntries") || attached+400 < room {
		t.Errorf("error %v after %d specs where there is room for %d, want one that says to raise MaxEntries", err, attached, room)
	}
	p.do("")
}

// TestCollectionJVM attaches to all probes of libjvm, which is more than libbpf
// can do.
func TestCollectionJVM(t *testing.T) {
	paths, err := filepath.Glob("/usr/lib/jvm/*/lib/server/libjvm.so")
	if err != nil || len(paths) == 0 {
		skip(t, "needs openjdk-17-jre-headless: %v", err)
	}
	f, err := reader.Open(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sites, different := 0, map[string]bool{}
	for p, err := range f.Probes() {
		if err != nil {
			t.Fatal(err)
		}
		sites++
		different[p.Args] = true
	}
	spec := readSpec(t, compileBPF(t, "testdata/collection.bpf.c"))
	spec.Programs["bare"].AttachTo = paths[0] + ":*:*"
	delete(spec.Programs, "ints")
	c := newCollection(t, spec, nil)
	if err := c.Attach(); err != nil {
		t.Fatal(err)
	}
	if got := c.Plan("bare").Attached(); got != sites || sites < 500 {
		t.Errorf("attached to %d sites, want %d, at least 500", got, sites)
	}
	// Registers have several names, so that there may be fewer specs.
	if got := specsIn(t, c); got > len(different) || got < len(different)/2 {
		t.Errorf("%d specs for %d different arguments", got, len(different))
	}
	t.Logf("%d sites, %d specs", sites, specsIn(t, c))
}

// TestCollectionErrors holds that a cause is told once, whatever it concerns,
// and that what can be attached is.
func TestCollectionErrors(t *testing.T) {
	path := compile(t, "gcc", "-O2")
	p := start(t, exec.Command(path))
	spec := readSpec(t, newestObject)
	spec.Programs["bare"].AttachTo = path + ":args:nothing"
	spec.Programs["ints"].AttachTo = path + ":args:nothing"
	spec.Programs["any"].AttachTo = path + ":args:bare"
	c := newCollection(t, spec, nil)
	err := c.Attach()
	if !errors.Is(err, attach.ErrNoMatch) || !strings.HasPrefix(err.Error(), "attach bare, ints: ") || strings.Count(err.Error(), "nothing") != 1 {
		t.Errorf("error %v, want one about bare and ints that wraps ErrNoMatch", err)
	}
	p.do("")
	if events := firings(t, c); len(events) != 1 || events[0].Program != 1 {
		t.Errorf("events %+v, want one of any", events)
	}
	if _, err := c.AttachProgram("left", "args:bare", nil); err == nil {
		t.Error("attach of a program that is the caller's: no error")
	}
	if _, err := c.AttachProgram("any", path+":args:nothing", nil); !errors.Is(err, attach.ErrNoMatch) {
		t.Errorf("error %v, want one that wraps ErrNoMatch", err)
	}
	b, err := os.ReadFile(newestObject)
	if err != nil {
		t.Fatal(err)
	}
	other := start(t, exec.Command("cat"))
	if c, err := attach.LoadCollection(bytes.NewReader(b), &attach.Options{PIDs: []int{other.pid()}}); !errors.Is(err, attach.ErrNoMatch) {
		t.Errorf("collection %v, error %v, want one that wraps ErrNoMatch", c, err)
	}
	for name, o := range map[string]*attach.Options{
		"condition": {Where: "arg0 == 1"},
		"strings":   {Strings: []string{"arg0"}},
		"cookies":   {Cookies: []uint64{1}},
	} {
		if c, err := attach.LoadCollection(bytes.NewReader(b), o); err == nil {
			c.Close()
			t.Errorf("%s: no error", name)
		}
	}
	if c, err := attach.LoadCollection(bytes.NewReader(b[:len(b)/2]), nil); err == nil {
		c.Close()
		t.Error("half an object: no error")
	}
}

// TestCollectionRescan attaches to probes that are declared later, until the
// context is done.
func TestCollectionRescan(t *testing.T) {
	p := startChild(t, "typed")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	spec := readSpec(t, newestObject)
	spec.Programs["any"].AttachTo = "typed:ints"
	delete(spec.Programs, "bare")
	delete(spec.Programs, "ints")
	c := newCollection(t, spec, &attach.Options{PIDs: []int{p.pid()}, Rescan: 5 * time.Millisecond, Await: true, Context: ctx, Cookie: 3})
	if err := c.Attach(); err != nil {
		t.Fatal(err)
	}
	p.do("load")
	awaitSites(t, func() attach.Plan { return c.Plan("any") }, 1)
	p.do("ints")
	if events := firings(t, c); len(events) != 1 || events[0].Args[1] != 200 || events[0].Cookie != 3 {
		t.Errorf("events %+v, want one", events)
	}
	cancel()
	for end := time.Now().Add(20 * time.Second); len(c.Plan("any")) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("still attached after the context is done")
		}
	}
	p.do("ints")
	if events := firings(t, c); len(events) != 0 {
		t.Errorf("events %+v after the context is done", events)
	}
}

// TestCollectionLinked reads what bpftool makes of several objects.
func TestCollectionLinked(t *testing.T) {
	if _, err := exec.LookPath("bpftool"); err != nil {
		skip(t, "needs bpftool: %v", err)
	}
	linked := filepath.Join(t.TempDir(), "linked.o")
	cmd := exec.Command("bpftool", "gen", "object", linked, compileBPF(t, "testdata/collection.bpf.c"), compileBPF(t, "testdata/shop.bpf.c"))
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, msg)
	}
	spec := readSpec(t, linked)
	if spec.Programs["order"] == nil || spec.Programs["ints"] == nil {
		t.Errorf("programs %v, want those of both objects", spec.Programs)
	}
	newCollection(t, spec, nil)
}
