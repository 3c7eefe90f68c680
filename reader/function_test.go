package reader_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// functionsOf returns a file's functions by the first of their symbols.
func functionsOf(t testing.TB, path string) map[string]reader.Function {
	t.Helper()
	f, err := reader.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	out := map[string]reader.Function{}
	for fn, err := range f.Functions() {
		if err != nil {
			t.Fatal(err)
		}
		out[fn.Symbols[0]] = fn
	}
	return out
}

// linkedAt returns the address that the linker reports for a symbol.
func linkedAt(t testing.TB, path, symbol string) uint64 {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(symbols, func(s elf.Symbol) bool { return s.Name == symbol })
	if i < 0 {
		t.Fatalf("%s has no symbol %s", path, symbol)
	}
	return symbols[i].Value
}

func TestFunctions(t *testing.T) {
	needs.C(t)
	needs.Tools(t, "objcopy", "strip")
	dir := t.TempDir()
	prog, stripped := filepath.Join(dir, "prog"), filepath.Join(dir, "stripped")
	needs.Run(t, "gcc", "-O2", "-rdynamic", "-o", prog, "testdata/functions.c")
	needs.Run(t, "strip", "-o", stripped, prog)

	got := functionsOf(t, prog)
	for _, name := range []string{"plain", "local", "chosen", "outlined", "main"} {
		fn, ok := got[name]
		if want := linkedAt(t, prog, name); !ok || fn.Address != want || fn.SiteErr != nil || fn.Size == 0 && name != "chosen" {
			t.Errorf("%s: got %+v, want it at %#x", name, fn, want)
		}
		if fn.Resolver != (name == "chosen") {
			t.Errorf("%s: resolver %v", name, fn.Resolver)
		}
	}
	if d := cmp.Diff([]string{"plain", "__alias"}, got["plain"].Symbols); d != "" {
		t.Errorf("symbols of plain (-want +got):\n%s", d)
	}
	if cold := linkedAt(t, prog, "outlined.cold"); cold == 0 {
		t.Error("the compiler did not move a part of outlined")
	}
	for _, name := range []string{"outlined.cold", "puts", "puts@GLIBC_2.2.5"} {
		if fn, ok := got[name]; ok {
			t.Errorf("%s is no function of the program: %+v", name, fn)
		}
	}

	// The exported functions and, with the symbols in another file, all of them.
	got = functionsOf(t, stripped)
	if _, ok := got["local"]; ok || got["plain"].Address == 0 {
		t.Errorf("of the stripped program: %v", got)
	}
	debug, linked := filepath.Join(dir, "prog.debug"), filepath.Join(dir, "linked")
	needs.Run(t, "objcopy", "--only-keep-debug", prog, debug)
	needs.Run(t, "objcopy", "--add-gnu-debuglink="+debug, stripped, linked)
	if got := functionsOf(t, linked)["local"].Address; got != linkedAt(t, prog, "local") {
		t.Errorf("local with a separate file of symbols: at %#x", got)
	}
}

func TestFunctionProbe(t *testing.T) {
	needs.C(t)
	prog := filepath.Join(t.TempDir(), "prog")
	needs.Run(t, "gcc", "-O2", "-o", prog, "testdata/functions.c")
	fn := functionsOf(t, prog)["plain"]
	entry, ret := fn.Entry(), fn.Return()
	if entry.Kind != reader.Uprobe || entry.Provider != "prog" || entry.Name != "plain" || entry.Location != fn.Address || entry.Offset != fn.Offset || entry.Target.Address != fn.Address {
		t.Errorf("entry %+v", entry)
	}
	if args := ret.Arguments(); ret.Kind != reader.Uretprobe || ret.AtRET || len(args) != 1 || !args[0].Signed {
		t.Errorf("return %+v", ret)
	}
	want := map[string]int{"amd64": 6, "arm64": 8}[runtime.GOARCH]
	if n := len(entry.Arguments()); n != want {
		t.Errorf("%d arguments, want %d", n, want)
	}
	last, err := fn.Argument(want)
	if err != nil || last.Err != nil || last.Base == "" {
		t.Errorf("the argument behind those in registers is %+v, %v", last, err)
	}
	if _, err := fn.Argument(1 << 20); err == nil {
		t.Error("there is an argument of that number")
	}
	if s, err := entry.Site(); err != nil || len(s.Bytes) == 0 {
		t.Errorf("site %+v, %v", s, err)
	}
}

func TestMatchCpp(t *testing.T) {
	needs.C(t)
	needs.Tools(t, "g++")
	prog := filepath.Join(t.TempDir(), "prog")
	needs.Run(t, "g++", "-O1", "-o", prog, "testdata/shapes.cc")
	fn := functionsOf(t, prog)["_ZNK6shapes6Square4areaEi"]
	const name = "shapes::Square::area(int) const"
	if got := fn.Name(); got != name {
		t.Errorf("name %q, want %q", got, name)
	}
	for _, want := range []string{fn.Symbols[0], name, "shapes::Square::area"} {
		got, ok := fn.Match(func(s string) bool { return s == want })
		if !ok || got != name {
			t.Errorf("match of %q: %q, %v", want, got, ok)
		}
	}
	if got, ok := fn.Match(func(s string) bool { return s == "area" }); ok {
		t.Errorf("match of area: %q", got)
	}
}

// TestFunctionsGo checks that functions of stripped programs are found at the
// addresses that they had before. Programs with cgo have C functions before Go's.
func TestFunctionsGo(t *testing.T) {
	needs.C(t)
	needs.Tools(t, "strip", "go")
	for _, test := range []struct{ name, cgo, mode, source string }{
		{"exe", "0", "exe", "testdata/gofunc.go"},
		{"cgo", "1", "exe", "testdata/cgofunc.go"},
		{"cgo_pie", "1", "pie", "testdata/cgofunc.go"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			prog, stripped := filepath.Join(dir, "prog"), filepath.Join(dir, "stripped")
			cmd := exec.Command("go", "build", "-buildmode="+test.mode, "-o", prog, test.source)
			cmd.Env = append(os.Environ(), "CGO_ENABLED="+test.cgo)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			needs.Run(t, "strip", "-o", stripped, prog)
			want := linkedAt(t, prog, "main.work")
			for _, path := range []string{prog, stripped} {
				fn := functionsOf(t, path)["main.work"]
				if fn.Address != want || fn.Convention != reader.GoRegisters {
					t.Errorf("%s: got %+v, want it at %#x", filepath.Base(path), fn, want)
				}
				if arg, err := fn.Argument(1); err != nil || !strings.HasSuffix(arg.Text, "@%rbx") && !strings.HasSuffix(arg.Text, "@x1") {
					t.Errorf("second argument %+v, %v", arg, err)
				}
			}
			all := functionsOf(t, prog)
			for _, name := range []string{"runtime.text", "runtime.etext"} {
				if _, ok := all[name]; ok {
					t.Errorf("%s is no function", name)
				}
			}
			if fn := all["runtime.rt0_go.abi0"]; fn.Convention != reader.GoStack {
				t.Errorf("a function in assembly: %+v", fn)
			}
			if start := all["_start"]; test.cgo == "1" && (start.Address == 0 || start.Convention != reader.CConvention) {
				t.Errorf("a function of C: %+v", start)
			}
		})
	}
}

func TestProcessFunctions(t *testing.T) {
	p, err := reader.OpenProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	want := uint64(reflect.ValueOf(TestProcessFunctions).Pointer())
	found := 0
	for fn, err := range p.Functions(func(path string) bool { return path == exe }) {
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(fn.Symbols, "github.com/go-usdt/usdt/reader_test.TestProcessFunctions") {
			continue
		}
		if found++; fn.Live == nil || fn.Live.Address != want || fn.Live.PID != os.Getpid() || fn.Path != exe {
			t.Errorf("got %+v at %+v, want it at %#x", fn, fn.Live, want)
		}
	}
	if found != 1 {
		t.Errorf("found %d times, want once", found)
	}
}

// TestSource checks what a site is that begins a line, or a function that was inlined.
func TestSource(t *testing.T) {
	p := reader.Probe{Note: notes.Note{Provider: "srv", Name: "main+0x4", Args: "-8@%rdi"}}
	for want, source := range map[string]reader.Source{
		"a.c:7": {Line: "a.c:7", Func: "main"},
		"twice": {Func: "twice", Inlined: true},
	} {
		source.Variables = []reader.Variable{{
			Name: "p.n", Type: "int", Argument: true, Kind: reader.Int, Size: 4, Register: 7, Offset: 8, Memory: true, Follow: true, FollowOffset: 4,
		}, {Name: "text", Kind: reader.String, Length: "len", Global: true, Err: os.ErrNotExist}}
		source.Err = source.Variables[1].Err
		got := p.Of(&source)
		if len(got.Source.Variables) != 2 || got.Source.Err == nil {
			t.Errorf("%s has the variables %+v, error %v", want, got.Source.Variables, got.Source.Err)
		}
		if got.Name != want || got.Args != "" || got.Source.Func != source.Func || got.Source.Inlined != source.Inlined || got.Source.Line != source.Line {
			t.Errorf("%+v is called %s, with the arguments %q, want %s", source, got.Name, got.Args, want)
		}
	}
}
