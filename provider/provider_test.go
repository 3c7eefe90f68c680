//go:build linux

package provider_test

import (
	"bytes"
	"debug/elf"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/provider"
)

// objects returns the contents of the objects that p has loaded.
func objects(t testing.TB, p *provider.Provider) [][]byte {
	t.Helper()
	var all [][]byte
	for _, f := range provider.Files(p) {
		b, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<40))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	return all
}

var loader = flag.String("loader", "map", "loader of the providers under test: map or dlopen")

// newProvider returns a provider with the loader that the flag names.
func newProvider(name string) *provider.Provider { return fresh(name, options()) }

// fresh returns a provider without the probes that other tests have declared.
func fresh(name string, opts *provider.Options) *provider.Provider {
	provider.Forget(name)
	return provider.New(name, opts)
}

func options() *provider.Options {
	opts := &provider.Options{}
	if *loader == "dlopen" {
		opts.Loader = provider.LoaderDlopen
	}
	return opts
}

func load(t testing.TB, p *provider.Provider) {
	t.Helper()
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
}

func TestDeclarationErrors(t *testing.T) {
	long := strings.Repeat("x", 64)
	for _, tt := range []struct {
		name    string
		declare func(*provider.Provider)
		want    string
	}{
		{"empty", func(p *provider.Provider) { provider.NewProbe0(p, "") }, ": probe name is empty"},
		{"long", func(p *provider.Provider) { provider.NewProbe0(p, long) }, "has 64 bytes, 63 are the most that perf can name"},
		{"dash", func(p *provider.Provider) { provider.NewProbe0(p, "a-b") }, `probe name "a-b" is not a C identifier`},
		{"digit", func(p *provider.Provider) { provider.NewProbe0(p, "1a") }, `probe name "1a" is not a C identifier`},
		{"nul", func(p *provider.Provider) { provider.NewProbe0(p, "a\x00") }, `probe name "a\x00" is not a C identifier`},
		{"twice", func(p *provider.Provider) { provider.NewProbe0(p, "a"); provider.NewProbe1[int](p, "a", "x") }, ": it is declared already at "},
		{"arg twice", func(p *provider.Provider) { provider.NewProbe2[int, int](p, "a", "x", "x") }, `argument name "x" is used twice`},
		{"hidden arg", func(p *provider.Provider) { provider.NewProbe1[int](p, "a", "__x") }, `argument name "__x" begins with __`},
		{"GNU keyword", func(p *provider.Provider) { provider.NewProbe1[int](p, "a", "asm") }, `argument name "asm" is a keyword of C`},
		{"keyword", func(p *provider.Provider) { provider.NewProbe1[int](p, "a", "default") }, `argument name "default" is a keyword of C`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newProvider("t")
			good := provider.NewProbe1[int](p, "good", "x")
			tt.declare(p)
			err := p.Load()
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Load: got %v, want an error with %q", err, tt.want)
			}
			t.Cleanup(func() { p.Close() })
			if n := len(objects(t, p)); n != 1 {
				t.Errorf("the good probes beside it: got %d objects, want 1", n)
			}
			good.Fire(1)
			if again := p.Load(); again == nil || again.Error() != err.Error() {
				t.Errorf("second Load: got %v, want %v again", again, err)
			}
		})
	}
	both := newProvider("a:b")
	provider.NewProbe0(both, "x y")
	if err := both.Load(); err == nil || !strings.Contains(err.Error(), "a:b") || !strings.Contains(err.Error(), "x y") {
		t.Errorf("a wrong provider and a wrong probe: got %v, want both named", err)
	}
	for _, name := range []string{"", "a:b", strings.Repeat("p", 60)} {
		if err := newProvider(name).Load(); err == nil || !strings.Contains(err.Error(), "provider name") {
			t.Errorf("provider %q: got %v, want an error about its name", name, err)
		}
	}
}

func TestNoProbes(t *testing.T) {
	p := newProvider("none")
	load(t, p)
	if n := len(objects(t, p)); n != 0 {
		t.Errorf("got %d objects, want none", n)
	}
}

func TestSameBytesInAnyOrder(t *testing.T) {
	declare := []func(*provider.Provider){
		func(p *provider.Provider) { provider.NewProbe0(p, "a") },
		func(p *provider.Provider) { provider.NewProbe2[int, string](p, "b", "x", "y") },
		func(p *provider.Provider) { provider.NewProbe1[[]byte](p, "c", "z") },
		func(p *provider.Provider) { provider.NewProbe2[int, string](p, "d", "x", "y") },
	}
	build := func(order ...int) []byte {
		p := newProvider("order")
		for _, i := range order {
			declare[i](p)
		}
		load(t, p)
		return objects(t, p)[0]
	}
	if !bytes.Equal(build(0, 1, 2, 3), build(3, 1, 0, 2)) {
		t.Error("the object's bytes depend on the order of declaration")
	}
}

// TestObject checks what consumers rely on; see the package's design in
// ARCHITECTURE.md.
func TestObject(t *testing.T) {
	p := newProvider("obj")
	provider.NewProbe6[int8, uint16, int32, float64, string, []byte](p, "six", "a", "b", "c", "d", "e", "f")
	provider.NewProbe1[bool](p, "one", "ok")
	provider.NewProbe0(p, "zero")
	load(t, p)
	f, err := elf.NewFile(bytes.NewReader(objects(t, p)[0]))
	if err != nil {
		t.Fatal(err)
	}
	index := map[string]int{}
	for i, s := range f.Sections {
		index[s.Name] = i
	}
	if !(index[".text"] < index[".probes"] && index[".probes"] < index[".note.stapsdt"]) {
		t.Errorf("bcc needs .text, .probes, .note.stapsdt in this order, got sections %v", index)
	}
	for _, name := range []string{".note.gnu.build-id", ".stapsdt.base", ".stapsdt.types", ".BTF", ".dynsym"} {
		if index[name] == 0 {
			t.Errorf("section %s is missing", name)
		}
	}
	data, err := f.Section(".note.stapsdt").Data()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for n, err := range notes.All(data, f.ByteOrder, notes.Class(f.Class)) {
		if err != nil {
			t.Fatal(err)
		}
		got[n.Name] = n.Args
		if n.Base != f.Section(".stapsdt.base").Addr {
			t.Errorf("%s: base %#x, .stapsdt.base is at %#x", n.Name, n.Base, f.Section(".stapsdt.base").Addr)
		}
		if s := f.Section(".probes"); n.Semaphore < s.Addr || n.Semaphore+2 > s.Addr+s.Size {
			t.Errorf("%s: semaphore %#x is outside .probes", n.Name, n.Semaphore)
		}
	}
	want := map[string]string{
		"six":  "-1@%dil 2@%si -4@%edx 8@%rcx 8@%r8 8@%r9 8@48(%rax)",
		"one":  "1@%dil",
		"zero": "",
	}
	if runtime.GOARCH == "arm64" {
		want["six"], want["one"] = "-1@x0 2@x1 -4@x2 8@x3 8@x4 8@x5 8@x6", "1@x0"
	}
	for name, args := range want {
		if got[name] != args {
			t.Errorf("%s: arguments %q, want %q", name, got[name], args)
		}
	}
}

// TestMappings checks that no page of an object is both writable and executable.
func TestMappings(t *testing.T) {
	p := newProvider("mapped")
	provider.NewProbe1[int](p, "a", "x")
	load(t, p)
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	var modes []string
	for line := range strings.Lines(string(maps)) {
		if fields := strings.Fields(line); strings.Contains(line, "/memfd:usdt:mapped ") {
			modes = append(modes, fields[1])
		}
	}
	slices.Sort(modes)
	if modes = slices.Compact(modes); !slices.Contains(modes, "r-xp") || !slices.Contains(modes, "rw-p") {
		t.Errorf("mapped as %v, want r-xp and rw-p among them", modes)
	}
	for _, mode := range modes {
		if strings.Contains(mode, "w") && strings.Contains(mode, "x") || !strings.HasSuffix(mode, "p") {
			t.Errorf("mapped as %s", mode)
		}
	}
}

func TestLoadLater(t *testing.T) {
	p := newProvider("later")
	provider.NewProbe0(p, "first")
	load(t, p)
	before := objects(t, p)[0]
	provider.NewProbe0(p, "second")
	load(t, p)
	all := objects(t, p)
	if len(all) != 2 || !bytes.Equal(all[0], before) {
		t.Errorf("after a second Load: %d objects, want the first untouched and another", len(all))
	}
}

func TestForcedSite(t *testing.T) {
	for _, site := range []provider.Site{provider.SiteNop, provider.SiteNop5, provider.SiteNop10} {
		p := fresh("site", &provider.Options{Site: site})
		provider.NewProbe0(p, "a")
		err := p.Load()
		t.Cleanup(func() { p.Close() })
		if runtime.GOARCH != "amd64" && site != provider.SiteNop {
			if !errors.Is(err, provider.ErrNotSupported) {
				t.Errorf("%v on %s: got %v, want ErrNotSupported", site, runtime.GOARCH, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%v: %v", site, err)
		}
	}
}

func TestEnabled(t *testing.T) {
	p := newProvider("enabled")
	probe := provider.NewProbe1[int](p, "a", "x")
	probe.Fire(1)
	load(t, p)
	if probe.Enabled() || p.Enabled() {
		t.Error("enabled though nobody watches")
	}
	provider.Watch(p, 1)
	if !probe.Enabled() || !p.Enabled() {
		t.Error("not enabled though its semaphore is 1")
	}
	probe.Fire(1)
	provider.Watch(p, -1)
	if probe.Enabled() || p.Enabled() {
		t.Error("enabled though its semaphore is 0 again")
	}
}

func TestClose(t *testing.T) {
	p := newProvider("closing")
	probe := provider.NewProbe1[string](p, "a", "x")
	load(t, p)
	provider.Watch(p, 1)
	if err := errors.Join(p.Close(), p.Close()); err != nil {
		t.Error(err)
	}
	if probe.Enabled() {
		t.Error("enabled after Close")
	}
	probe.Fire("x")
	late := provider.NewProbe0(p, "late")
	load(t, p)
	provider.Watch(p, 1)
	if !probe.Enabled() || !late.Enabled() {
		t.Error("after Close, Load does not publish all probes again")
	}
	probe.Fire("x")
	late.Fire()
}

// TestCloseWhileFiring closes providers while 8 goroutines enter their stubs as fast
// as they can, and lets others use their address space at once.
func TestCloseWhileFiring(t *testing.T) {
	for range 20 {
		p := newProvider("busy")
		ints := provider.NewProbe3[int, int, int](p, "ints", "a", "b", "c")
		text := provider.NewProbe2[string, []byte](p, "text", "s", "b")
		load(t, p)
		provider.Watch(p, 1)
		var wg sync.WaitGroup
		started := make(chan struct{}, 8)
		for range 8 {
			wg.Go(func() {
				started <- struct{}{}
				for i := 0; ints.Enabled() || text.Enabled(); i++ {
					ints.Fire(i, i, i)
					text.Fire("text", []byte("bytes"))
				}
			})
		}
		for range 8 {
			<-started
		}
		// Another provider takes the address space as soon as it is free.
		wg.Go(func() {
			q := newProvider("next")
			provider.NewProbe1[int](q, "only", "x")
			for range 5 {
				if err := q.Load(); err != nil {
					t.Error(err)
				}
				q.Close()
				q = newProvider("next")
				provider.NewProbe1[int](q, "only", "x")
			}
		})
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
	}
}

// TestNoGrowth loads and closes 10,000 times, with objects of different sizes.
func TestNoGrowth(t *testing.T) {
	cycle := func(i int) {
		p := newProvider("cycle")
		for j := range 1 + i%7*8 {
			provider.NewProbe2[int, string](p, fmt.Sprintf("p%d", j), "a", "b")
		}
		if err := p.Load(); err != nil {
			t.Fatal(err)
		}
		provider.Watch(p, 1)
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 100 {
		cycle(i)
	}
	fds, maps, rss := usage(t)
	n := 10_000
	if testing.Short() {
		n = 500
	}
	for i := range n {
		cycle(i)
	}
	fds2, maps2, rss2 := usage(t)
	// The Go heap may still be growing to its steady state. A leaked page per cycle
	// would be 40 MiB (the heap adds 0.1, with the race detector some 15).
	if fds2 > fds || maps2 > maps || rss2 > rss+32<<20 {
		t.Errorf("after %d cycles: %d fds, %d mappings, %d KiB resident; before: %d, %d, %d", n, fds2, maps2, rss2>>10, fds, maps, rss>>10)
	}
}

// usage returns the number of the process's open files, of its mappings, and of its
// resident bytes.
func usage(t *testing.T) (fds, maps, rss int) {
	t.Helper()
	runtime.GC()
	dir, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	m, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	s, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var size, resident int
	if _, err := fmt.Sscan(string(s), &size, &resident); err != nil {
		t.Fatal(err)
	}
	// Count what this package maps: objects, and memory that reads as zero in their
	// place. Go's allocator, the race detector and threads map and split other memory
	// without a file.
	for line := range bytes.Lines(m) {
		f := bytes.Fields(line)
		if len(f) > 5 || string(f[1]) == "r--p" {
			maps++
		}
	}
	return len(dir), maps, resident * os.Getpagesize()
}

// TestProbeSize checks that a probe takes no more than 64 bytes, a size class of the
// allocator: a further word would make it 80.
func TestProbeSize(t *testing.T) {
	if provider.ProbeSize > 64 {
		t.Errorf("a probe has %d bytes, want at most 64", provider.ProbeSize)
	}
}
