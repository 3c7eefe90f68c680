package reader_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// named opens the file and returns its probes by name.
func named(t *testing.T, path string) map[string]reader.Probe {
	t.Helper()
	f, err := reader.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	out := map[string]reader.Probe{}
	for p, err := range f.Probes() {
		if err != nil {
			t.Fatal(err)
		}
		out[p.Name] = p
	}
	return out
}

func TestFunctionCpp(t *testing.T) {
	needs.C(t)
	needs.Tools(t, "g++")
	prog := filepath.Join(t.TempDir(), "prog")
	needs.Run(t, "g++", "-O1", "-o", prog, "testdata/shapes.cc")
	name, offset, err := ptr(named(t, prog)["area"]).Function()
	if want := "shapes::Square::area(int) const"; err != nil || name != want || offset > 64 {
		t.Errorf("got %q+%d, %v, want %q", name, offset, err, want)
	}
}

// TestFunctionRust checks Rust's two ways to name functions; C can use the same
// names.
func TestFunctionRust(t *testing.T) {
	needs.C(t)
	dir := t.TempDir()
	source, prog := filepath.Join(dir, "rust.c"), filepath.Join(dir, "prog")
	for symbol, want := range map[string]string{
		"_RNvCs15kBYyAo9fc_7mycrate7example":             "mycrate::example",
		"_ZN7mycrate6module7example17h0123456789abcdefE": "mycrate::module::example",
		"_RNvMCs15kBYyAo9fc_7mycrateNtB2_6Square4area":   "<mycrate::Square>::area",
		"_ZN10_$LT$T$GT$7example17h0123456789abcdefE":    "<T>::example",
	} {
		text := "#include <sys/sdt.h>\n__attribute__((noinline)) void f(void) __asm__(\"" + symbol + "\");\n" +
			"void f(void) { STAP_PROBE(rust, probe); }\nint main() { f(); }\n"
		if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		needs.Run(t, "gcc", "-O1", "-o", prog, source)
		if name, _, err := ptr(named(t, prog)["probe"]).Function(); err != nil || name != want {
			t.Errorf("%s: got %q, %v, want %q", symbol, name, err, want)
		}
	}
}

func ptr(p reader.Probe) *reader.Probe { return &p }

// TestDebugSymbols strips a program and provides its symbols in the ways of
// distributions.
func TestDebugSymbols(t *testing.T) {
	needs.C(t)
	needs.Tools(t, "objcopy", "strip", "nm")
	dir := t.TempDir()
	prog := filepath.Join(dir, "prog")
	needs.Run(t, "gcc", "-O1", "-g", "-o", prog, "testdata/symbols.c")

	check := func(t *testing.T, path, want string) {
		t.Helper()
		name, _, err := ptr(named(t, path)["in_static"]).Function()
		if name != want {
			t.Errorf("got %q, %v, want %q", name, err, want)
		}
	}
	check(t, prog, "only_in_symtab")

	stripped := filepath.Join(dir, "stripped")
	needs.Run(t, "strip", "-o", stripped, prog)
	check(t, stripped, "")

	t.Run("debuglink", func(t *testing.T) {
		debug, linked := filepath.Join(dir, "prog.debug"), filepath.Join(dir, "linked")
		needs.Run(t, "objcopy", "--only-keep-debug", prog, debug)
		needs.Run(t, "objcopy", "--add-gnu-debuglink="+debug, stripped, linked)
		check(t, linked, "only_in_symtab")
		// The debug link is that of the file to which a symbolic link leads.
		elsewhere := filepath.Join(t.TempDir(), "called")
		if err := os.Symlink(linked, elsewhere); err != nil {
			t.Fatal(err)
		}
		check(t, elsewhere, "only_in_symtab")
		// The file with the symbols also has the notes, and leads to the code.
		want := named(t, prog)["in_static"]
		p := named(t, debug)["in_static"]
		if p.Path != debug || p.OpenPath != prog || p.Offset != want.Offset || p.SiteErr != nil {
			t.Errorf("got path %s, open path %s, offset %#x, %v, want %#x of %s", p.Path, p.OpenPath, p.Offset, p.SiteErr, want.Offset, prog)
		}
		if s, err := p.Site(); err != nil || s.Kind != notes.SiteNop {
			t.Errorf("got site %v, %v", s.Kind, err)
		}
		alone := filepath.Join(dir, "alone.debug")
		needs.Run(t, "cp", debug, alone)
		p = named(t, alone)["in_static"]
		if _, err := p.Site(); p.SiteErr == nil || err == nil || p.OpenPath != "" {
			t.Errorf("a site in a file without code: got %v, %v", p.SiteErr, err)
		}
		// Another program of that name is not its binary.
		needs.Run(t, "gcc", "-O2", "-o", filepath.Join(dir, "alone"), "testdata/symbols.c")
		if p = named(t, alone)["in_static"]; p.OpenPath != "" {
			t.Errorf("got open path %s of another program", p.OpenPath)
		}
	})
	t.Run("build-id", func(t *testing.T) {
		needs.Root(t) // to write to /usr/lib/debug
		id := fmt.Sprintf("%016x", rand.Uint64())
		withID := filepath.Join(dir, "with-id")
		needs.Run(t, "gcc", "-O1", "-g", "-Wl,--build-id=0x"+id, "-o", withID, "testdata/symbols.c")
		base := filepath.Join("/usr/lib/debug/.build-id", id[:2])
		debug := filepath.Join(base, id[2:]+".debug")
		if err := os.MkdirAll(base, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			os.Remove(debug)
			os.Remove(base) // unless others are in it
		})
		stripped := filepath.Join(dir, "stripped-with-id")
		needs.Run(t, "strip", "-o", stripped, withID)
		// A file with another build-id belongs to another program.
		needs.Run(t, "objcopy", "--only-keep-debug", prog, debug)
		check(t, stripped, "")
		needs.Run(t, "objcopy", "--only-keep-debug", withID, debug)
		check(t, stripped, "only_in_symtab")
		// A mapped file has debug symbols only if no stranger can have written it.
		for mode, want := range map[os.FileMode]string{0o755: "only_in_symtab", 0o777: ""} {
			if err := os.Chmod(stripped, mode); err != nil {
				t.Fatal(err)
			}
			r, err := os.Open(stripped)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			f, err := reader.NewFile(r)
			if err != nil {
				t.Fatal(err)
			}
			for p, err := range f.Probes() {
				if p.Name != "in_static" {
					continue
				}
				if name, _, _ := p.Function(); name != want {
					t.Errorf("mapped, with mode %o: got %q, %v, want %q", mode, name, err, want)
				}
			}
		}
	})
	t.Run("gnu_debugdata", func(t *testing.T) {
		needs.C(t)
		needs.Tools(t, "xz")
		mini, packed := filepath.Join(dir, "mini"), filepath.Join(dir, "packed")
		needs.Run(t, "objcopy", "--only-keep-debug", "--strip-debug", prog, mini)
		for _, option := range []string{"-9e", "--block-size=4000", "--check=sha256", "--check=none"} {
			needs.Run(t, "xz", "-kf", "-T1", option, mini)
			needs.Run(t, "objcopy", "--add-section", ".gnu_debugdata="+mini+".xz", stripped, packed)
			check(t, packed, "only_in_symtab")
		}
	})
}

// TestResolve compares resolved symbols with nm's output.
func TestResolve(t *testing.T) {
	needs.C(t)
	needs.Tools(t, "nm")
	prog := filepath.Join(t.TempDir(), "prog")
	needs.Run(t, "gcc", "-O2", "-o", prog, "testdata/symbols.c")
	probes := named(t, prog)
	address := map[string]string{}
	for line := range strings.Lines(needs.Run(t, "nm", prog)) {
		if f := strings.Fields(line); len(f) == 3 {
			address[f[2]] = strings.TrimLeft(f[0], "0")
		}
	}
	p := probes["rip"]
	args := p.Arguments()
	if len(args) != 1 || args[0].Symbol != "shared" {
		t.Fatalf("the compiler made %q of the argument, want one with a symbol", p.Args)
	}
	got, err := p.Resolve(&args[0])
	if want := address["shared"]; err != nil || hex(got) != want {
		t.Errorf("got %s, %v, want %s", hex(got), err, want)
	}
	if _, err := p.Resolve(&notes.Arg{Symbol: "no_such_symbol"}); err == nil || !strings.Contains(err.Error(), "no_such_symbol: symbol not found") {
		t.Errorf("got %v", err)
	}
	// The TLS segment has just this variable, so that it ends at the thread pointer.
	if off, err := p.Resolve(&notes.Arg{Symbol: "per_thread", Reloc: "tpoff"}); err != nil || int64(off) != -4 {
		t.Errorf("tpoff: got %d, %v, want -4", int64(off), err)
	}
	if off, err := p.Resolve(&notes.Arg{Symbol: "shared", Reloc: "GOTOFF"}); err != nil || hex(got-off) != address["_GLOBAL_OFFSET_TABLE_"] {
		t.Errorf("GOTOFF: got %#x, %v", off, err)
	}
	for _, disp := range []int64{0, 8, 0xffe, -0x2001} {
		low, err := p.Resolve(&notes.Arg{Symbol: "shared", Reloc: "lo12", Disp: disp})
		if want := (got + uint64(disp)) & 0xfff; err != nil || low+uint64(disp) != want {
			t.Errorf("lo12 with %d: got %#x, %v, want %#x", disp, low+uint64(disp), err, want)
		}
	}
	_, err = p.Resolve(&notes.Arg{Symbol: ".LANCHOR1", Reloc: "lo12"})
	if !errors.Is(err, reader.ErrNoSymbol) || !strings.Contains(err.Error(), "label of the compiler's own") {
		t.Errorf("got %v, want an error that says what .LANCHOR1 is", err)
	}
}

// TestImportedSymbol resolves a symbol that a library does not define.
func TestImportedSymbol(t *testing.T) {
	needs.C(t)
	dir := t.TempDir()
	source, lib := filepath.Join(dir, "lib.c"), filepath.Join(dir, "lib.so")
	text := "#include <sys/sdt.h>\nextern int elsewhere; int f(void) { STAP_PROBE1(p, imported, &elsewhere); return elsewhere; }\n"
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	needs.Run(t, "gcc", "-shared", "-fPIC", "-O1", "-o", lib, source)
	_, err := ptr(named(t, lib)["imported"]).Resolve(&notes.Arg{Symbol: "elsewhere", Reloc: "GOTPCREL"})
	if !errors.Is(err, reader.ErrNoSymbol) || !strings.Contains(err.Error(), "in another object") {
		t.Errorf("got %v, want an error that says whose it is", err)
	}
}

// TestHostileDebugdata reads a stream that asks for a dictionary of 4 GiB, which its
// short output does not need, and cuts the stream everywhere.
func TestHostileDebugdata(t *testing.T) {
	data := bytes.Clone(debugdataFile(t))
	at := bytes.Index(data, []byte{0x21, 1}) // the filter LZMA2, with one byte of properties
	data[at+2] = 40
	o := &object{notes: one, sections: map[string][]byte{".gnu_debugdata": data}}
	p := all(t, o.build(t))[0]
	within(t, func() {
		if _, _, err := p.Function(); !errors.Is(err, reader.ErrNoSymbol) {
			t.Errorf("got %v, want that there is no such symbol", err)
		}
	})
	data[at+2] = 41
	for n := range data {
		o := &object{notes: one, sections: map[string][]byte{".gnu_debugdata": data[:n]}}
		if _, _, err := ptr(all(t, o.build(t))[0]).Function(); err == nil {
			t.Errorf("%d bytes: want an error", n)
		}
	}
}

// TestAmbiguousSymbol links two files that each have a static variable of the same
// name.
func TestAmbiguousSymbol(t *testing.T) {
	needs.C(t)
	dir := t.TempDir()
	prog, other := filepath.Join(dir, "prog"), filepath.Join(dir, "other.c")
	if err := os.WriteFile(other, []byte("static volatile int twice; int other(void) { return twice++; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	needs.Run(t, "gcc", "-O1", "-o", prog, "testdata/symbols.c", other)
	_, err := ptr(named(t, prog)["rip"]).Resolve(&notes.Arg{Symbol: "twice"})
	if err == nil || !strings.Contains(err.Error(), "ambiguous") {
		t.Errorf("got %v, want an error that says ambiguous", err)
	}
}

// TestGoFunction finds the function of an address in a Go program without symbols.
// The test adds a note with this address.
func TestGoFunction(t *testing.T) {
	needs.C(t)
	needs.Tools(t, "objcopy", "go", "nm")
	dir := t.TempDir()
	prog := filepath.Join(dir, "prog")
	needs.Run(t, "go", "build", "-o", prog, "testdata/gofunc.go")
	var main uint64
	for line := range strings.Lines(needs.Run(t, "nm", prog)) {
		if f := strings.Fields(line); len(f) == 3 && f[2] == "main.work" {
			main = parseHex(t, f[0])
		}
	}
	note := filepath.Join(dir, "note")
	o := &object{notes: one}
	o.build(t)
	if err := os.WriteFile(note, o.encode([]notes.Note{{Provider: "p", Name: "go", Location: main + 1}}), 0o600); err != nil {
		t.Fatal(err)
	}
	stripped := filepath.Join(dir, "stripped")
	needs.Run(t, "objcopy", "--strip-all", "--add-section", notes.SectionName+"="+note, prog, stripped)
	name, offset, err := ptr(named(t, stripped)["go"]).Function()
	if err != nil || name != "main.work" || offset != 1 {
		t.Errorf("got %q+%d, %v, want main.work+1", name, offset, err)
	}
}

func TestSites(t *testing.T) {
	want := map[string]notes.SiteKind{
		"nop": notes.SiteNop, "nop5": notes.SiteNop5, "nop10": notes.SiteNop10,
		"nop_nop5": notes.SiteNopNop5, "nop_nop10": notes.SiteNopNop10, "other": notes.SiteOther,
	}
	code := map[string][]byte{
		"nop": {0x90, 0xc3}, "nop5": {0x0f, 0x1f, 0x44, 0, 0}, "nop10": {0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0},
		"nop_nop5": {0x90, 0x0f, 0x1f, 0x44, 0, 0}, "nop_nop10": {0x90, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}, "other": {0x50},
	}
	for name, b := range code {
		o := &object{notes: one}
		data := o.build(t)
		copy(data[o.text.Offset+4:], b)
		p := all(t, data)[0]
		s, err := p.Site()
		if err != nil || s.Kind != want[name] {
			t.Errorf("%s: got %v, %v", name, s.Kind, err)
		}
		if len(s.Insns) == 0 || !slices.Equal(s.Insns[0].Bytes, b[:len(s.Insns[0].Bytes)]) {
			t.Errorf("%s: got instructions %v", name, s.Insns)
		}
		if s.Unsafe && !s.Optimizable {
			t.Errorf("%s: unsafe without being optimizable", name)
		}
	}
}

func hex(v uint64) string { return strconv.FormatUint(v, 16) }

func parseHex(t *testing.T, s string) uint64 {
	t.Helper()
	v, err := strconv.ParseUint(s, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
