package collection_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cilium/ebpf/features"

	"github.com/go-usdt/usdt/attach/collection"
	"github.com/go-usdt/usdt/internal/systest/bpf"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/reader"
)

// specsIn returns the number of specs in a collection's map that are in use.
func specsIn(t testing.TB, c *collection.Collection) int {
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

// needManySites skips the test on kernels without uprobe_multi links.
func needManySites(t testing.TB) {
	t.Helper()
	if features.HaveBPFLinkUprobeMulti() != nil {
		needs.Skip(t, "without uprobe_multi: the kernel takes minutes to close so many perf events")
	}
}

// TestManySpecs attaches two programs to more sites with different
// arguments than the object's map has room for.
func TestManySpecs(t *testing.T) {
	const specs, sites = 400, 800
	path := needs.Compile(t, "testdata/many.c", "gcc", "-O2")
	p := start(t, exec.Command(path))
	spec := bpf.ReadSpec(t, needs.CompileBPF(t, "testdata/collection.bpf.c"))
	delete(spec.Programs, "any")
	delete(spec.Programs, "sleepable")
	for _, name := range []string{"bare", "ints"} {
		spec.Programs[name].AttachTo = path + ":many:probe"
	}
	declared := spec.Maps["__bpf_usdt_specs"].MaxEntries
	c := newCollection(t, spec, nil)
	needManySites(t)
	if err := c.Attach(t.Context()); err != nil {
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
	p.Do("")
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

// TestSpecsReused attaches again and again, with another cookie each
// time, and checks that specs no longer used make room. When all are in use, the
// error says what to do.
func TestSpecsReused(t *testing.T) {
	path := compile(t, "gcc", "-O2")
	p := start(t, exec.Command(path))
	spec := bpf.ReadSpec(t, newestObject)
	spec.Maps["__bpf_usdt_specs"].MaxEntries = 1
	spec.Programs["bare"].AttachTo = path + ":args:bare"
	delete(spec.Programs, "any")
	delete(spec.Programs, "sleepable")
	delete(spec.Programs, "ints")
	c := newCollection(t, spec, nil)
	const room = 2 // the site of bare, and one more
	for i := range uint64(5) {
		a := attachProgram(t, c, "bare", path+":args:ints", &collection.Options{Cookie: i})
		p.Do("")
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
	for i := range uint64(room + 1) {
		_, err := c.AttachProgram(t.Context(), "bare", path+":args:ints", &collection.Options{Cookie: i})
		switch full := i == room; {
		case !full && err != nil:
			t.Fatal(err)
		case full && (err == nil || !strings.Contains(err.Error(), "MaxEntries")):
			t.Errorf("error %v where there is room for %d specs, want one that says to raise MaxEntries", err, room)
		}
	}
	p.Do("")
	if events := firings(t, c); len(events) != room {
		t.Errorf("%d events, want %d", len(events), room)
	}
}

// TestJVM attaches to all probes of libjvm, which is more than libbpf
// can do.
func TestJVM(t *testing.T) {
	if _, err := exec.LookPath("java"); err != nil {
		needs.Skip(t, "needs openjdk-17-jre-headless: %v", err)
	}
	paths, err := filepath.Glob("/usr/lib/jvm/*/lib/server/libjvm.so")
	if err != nil || len(paths) == 0 {
		t.Fatalf("java without libjvm: %v", err)
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
	spec := bpf.ReadSpec(t, needs.CompileBPF(t, "testdata/collection.bpf.c"))
	spec.Programs["bare"].AttachTo = paths[0] + ":*:*"
	delete(spec.Programs, "ints")
	c := newCollection(t, spec, nil)
	needManySites(t)
	if err := c.Attach(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := c.Plan("bare").Attached(); got != sites || sites < 500 {
		t.Errorf("attached to %d sites, want %d, at least 500", got, sites)
	}
	// There may be fewer specs, since registers have several names.
	if got := specsIn(t, c); got > len(different) || got < len(different)/2 {
		t.Errorf("%d specs for %d different arguments", got, len(different))
	}
	t.Logf("%d sites, %d specs", sites, specsIn(t, c))
}
