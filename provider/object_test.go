//go:build linux

package provider_test

import (
	"bytes"
	"debug/elf"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/provider"
)

// objects returns the contents of the objects that p has loaded.
func objects(t testing.TB, p *provider.Provider) [][]byte {
	t.Helper()
	all, err := provider.Objects(p)
	if err != nil {
		t.Fatal(err)
	}
	return all
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
