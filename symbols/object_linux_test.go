package symbols_test

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/mangled"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/symbols"
)

// TestSeparate names code of a program whose symbols and debugging information were put
// into another file, which is found by .gnu_debuglink, or by the build-id.
func TestSeparate(t *testing.T) {
	needs.Tools(t, "objcopy", "strip")
	path := needs.Compile(t, "testdata/deep.c", "gcc", "-O2", "-g")
	addr := tracee.Symbol(t, path, "recurse")
	r := symbols.NewResolver(nil)
	id, err := r.Add(path)
	r.Close()
	if err != nil {
		t.Fatal(err)
	}
	debug := filepath.Join(t.TempDir(), "deep.debug")
	needs.Run(t, "objcopy", "--only-keep-debug", path, debug)
	needs.Run(t, "strip", "-g", "-s", path)
	stripped, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	find := func(o *symbols.Options) string {
		r := symbols.NewResolver(o)
		defer r.Close()
		if _, err := r.Add(path); err != nil {
			t.Fatal(err)
		}
		f := r.AppendFrames(nil, id, addr)
		return fmt.Sprintf("%s %s %t", f[0].Func, filepath.Base(f[0].File), f[0].Line > 0)
	}
	const want = "recurse deep.c true"
	if got := find(nil); got == want {
		t.Fatal("strip left everything")
	}
	dirs := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dirs, ".build-id", id[:2]), 0o755); err != nil {
		t.Fatal(err)
	}
	byID := filepath.Join(dirs, ".build-id", id[:2], id[2:]+".debug")
	needs.Run(t, "cp", debug, byID)
	if got := find(&symbols.Options{DebugDirs: []string{t.TempDir(), dirs}}); got != want {
		t.Errorf("by build-id: got %q, want %q", got, want)
	}
	// The program itself need not be there.
	r = symbols.NewResolver(&symbols.Options{DebugDirs: []string{dirs}})
	defer r.Close()
	if f := r.AppendFrames(nil, id, addr); f[0].Func != "recurse" || f[0].Line == 0 {
		t.Errorf("debug file alone: got %+v", f)
	}
	linked := filepath.Join(filepath.Dir(path), "deep.debug")
	needs.Run(t, "cp", debug, linked)
	needs.Run(t, "objcopy", "--add-gnu-debuglink="+linked, path)
	if got := find(nil); got != want {
		t.Errorf("by .gnu_debuglink: got %q, want %q", got, want)
	}
	if err := os.WriteFile(linked, append(stripped, 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := find(nil); got == want {
		t.Errorf("a debug file with another checksum was read")
	}
}

// TestDebugdata names functions that only .gnu_debugdata has.
func TestDebugdata(t *testing.T) {
	needs.Tools(t, "objcopy", "strip", "xz")
	path := needs.Compile(t, "testdata/deep.c", "gcc", "-O2")
	addr := tracee.Symbol(t, path, "recurse")
	mini := filepath.Join(t.TempDir(), "mini")
	needs.Run(t, "objcopy", "--only-keep-debug", "--strip-debug", path, mini)
	needs.Run(t, "xz", mini)
	needs.Run(t, "strip", "-s", path)
	needs.Run(t, "objcopy", "--add-section", ".gnu_debugdata="+mini+".xz", path)
	r := symbols.NewResolver(nil)
	defer r.Close()
	if f, err := r.AppendFile(nil, path, addr); err != nil || f[0].Func != "recurse" {
		t.Errorf("got %+v, %v, want recurse", f, err)
	}
}

// TestShared names code of programs whose debugging information dwz has put together:
// parts of one file, and parts that two files share in a third.
func TestShared(t *testing.T) {
	needs.Tools(t, "dwz")
	a := needs.Compile(t, "testdata/shop.cc", "g++", "-O2", "-g")
	b := needs.Compile(t, "testdata/shop.cc", "g++", "-O1", "-g")
	frames := func(path string, addrs []uint64, dirs ...string) (out []string) {
		r := symbols.NewResolver(&symbols.Options{DebugDirs: dirs})
		defer r.Close()
		for _, addr := range addrs {
			f, err := r.AppendFile(nil, path, addr)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, fmt.Sprint(f))
		}
		return out
	}
	compare := func(how string, addrs []uint64, got, want []string) {
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("%s %#x:\ngot  %s\nwant %s", how, addrs[i], got[i], want[i])
			}
		}
	}
	addrs, _ := sample(t, a, 3000/(4+slowdown))
	want := frames(a, addrs)
	common, dirs := filepath.Join(t.TempDir(), "common.debug"), t.TempDir()
	needs.Run(t, "dwz", "-m", common, a, b)
	r, err := reader.Open(common)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	id := r.BuildID()
	if err := os.MkdirAll(filepath.Join(dirs, ".build-id", id[:2]), 0o755); err != nil {
		t.Fatal(err)
	}
	needs.Run(t, "cp", common, filepath.Join(dirs, ".build-id", id[:2], id[2:]+".debug"))
	compare("a third file by path", addrs, frames(a, addrs, t.TempDir()), want)
	needs.Run(t, "mv", common, common+"~")
	compare("a third file", addrs, frames(a, addrs, dirs), want)
	if got := frames(a, addrs, t.TempDir()); slices.Equal(got, want) {
		t.Error("nothing is in the third file")
	}
	none := symbols.NewResolver(&symbols.Options{DebugDirs: []string{t.TempDir()}})
	defer none.Close()
	if _, err := none.AppendFile(nil, a, addrs[0]); err != nil {
		t.Fatal(err)
	}
	if errs := none.Refused(); len(errs) != 1 || !strings.Contains(errs[0].Error(), common) || !strings.Contains(errs[0].Error(), a) {
		t.Errorf("got %v, want one error with %s and %s", errs, a, common)
	}

	one := needs.Compile(t, "testdata/shop.cc", "g++", "-O2", "-g")
	needs.Run(t, "dwz", one)
	compare("one file", addrs, frames(one, addrs), want)
}

// TestSharedPaths finds the file that two share by its path: where it will be installed,
// relative to the others, and as DWARF 5 has it.
func TestSharedPaths(t *testing.T) {
	needs.Tools(t, "dwz")
	for _, c := range []struct {
		name  string
		dwz   []string
		below string // the directory with debug files, where dwz's goes
	}{
		{"installed", []string{"-M", "/usr/lib/debug/.dwz/x/shop.debug"}, ".dwz/x"},
		{"relative", []string{"-r"}, ""},
		{".debug_sup", []string{"-5"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := needs.Compile(t, "testdata/shop.cc", "g++", "-O2", "-g", "-gdwarf-5")
			b := needs.Compile(t, "testdata/shop.cc", "g++", "-O1", "-g", "-gdwarf-5")
			addrs, _ := sample(t, a, 500)
			names := func(dirs string) (out []string) {
				r := symbols.NewResolver(&symbols.Options{DebugDirs: []string{dirs}})
				defer r.Close()
				for _, addr := range addrs {
					f, err := r.AppendFile(nil, a, addr)
					if err != nil {
						t.Fatal(err)
					}
					out = append(out, fmt.Sprint(f))
				}
				for _, err := range r.Refused() {
					t.Error(err)
				}
				return out
			}
			dirs := t.TempDir()
			want := names(dirs)
			common := filepath.Join(filepath.Dir(a), "shop.debug")
			needs.Run(t, "dwz", append(c.dwz, "-m", common, a, b)...)
			if c.below != "" {
				if err := os.MkdirAll(filepath.Join(dirs, c.below), 0o755); err != nil {
					t.Fatal(err)
				}
				needs.Run(t, "mv", common, filepath.Join(dirs, c.below))
			}
			for i, got := range names(dirs) {
				if got != want[i] {
					t.Fatalf("%#x:\ngot  %s\nwant %s", addrs[i], got, want[i])
				}
			}
		})
	}
}

// TestPacked names code by sections that were compressed in each way, and large ones by
// way of the disk.
func TestPacked(t *testing.T) {
	needs.Tools(t, "objcopy")
	plain := needs.Compile(t, "testdata/shop.cc", "g++", "-O2", "-g")
	addrs, _ := sample(t, plain, 500)
	names := func(path string) (out []string) {
		r := symbols.NewResolver(nil)
		defer r.Close()
		for _, addr := range addrs {
			f, err := r.AppendFile(nil, path, addr)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, fmt.Sprint(f))
		}
		for _, err := range r.Refused() {
			t.Error(err)
		}
		return out
	}
	want := names(plain)
	for _, how := range []string{"zlib-gnu", "zlib-gabi", "zstd"} {
		packed := filepath.Join(t.TempDir(), how)
		if out, err := exec.Command("objcopy", "--compress-debug-sections="+how, plain, packed).CombinedOutput(); err != nil {
			if how == "zstd" {
				t.Logf("objcopy lacks zstd: %s", out) // before binutils 2.40, or without it
				continue
			}
			t.Fatalf("%v: %s", err, out)
		}
		if how == "zlib-gnu" && !strings.Contains(needs.Run(t, "readelf", "-SW", packed), ".zdebug_info") {
			t.Error("objcopy made no .zdebug_info")
		}
		if got := names(packed); !slices.Equal(got, want) {
			t.Errorf("%s: names or lines differ: %q\nwant %q", how, got[0], want[0])
		}
	}
}

// TestRefused says which debugging information was not read.
func TestRefused(t *testing.T) {
	needs.Tools(t, "objcopy")
	for name, c := range map[string]struct {
		compile []string
		change  func(path string)
		want    string
	}{
		"split": {[]string{"g++", "-O2", "-g", "-gsplit-dwarf"}, func(path string) {
			files, _ := filepath.Glob(filepath.Dir(path) + "/*.dwo")
			for _, f := range files {
				os.Remove(f)
			}
		}, "-gsplit-dwarf"},
		"lost alt": {[]string{"g++", "-O2", "-g"}, func(path string) {
			link := filepath.Join(t.TempDir(), "link")
			if err := os.WriteFile(link, []byte("/no/such.debug\x00aaaaaaaaaaaaaaaaaaaa"), 0o600); err != nil {
				t.Fatal(err)
			}
			needs.Run(t, "objcopy", "--add-section", ".gnu_debugaltlink="+link, path)
		}, "/no/such.debug"},
		"budget": {[]string{"g++", "-O2", "-g"}, func(path string) {
			raw := filepath.Join(t.TempDir(), "raw")
			if err := os.WriteFile(raw, bytes.Repeat([]byte("a name\x00"), 200<<20/7), 0o600); err != nil {
				t.Fatal(err)
			}
			needs.Run(t, "objcopy", "--update-section", ".debug_str="+raw, path)
			needs.Run(t, "objcopy", "--compress-debug-sections", path)
			needs.Run(t, "chmod", "666", path)
		}, "only root and you"},
	} {
		t.Run(name, func(t *testing.T) {
			path := needs.Compile(t, "testdata/shop.cc", c.compile...)
			addrs, _ := sample(t, path, 10)
			c.change(path)
			r := symbols.NewResolver(nil)
			defer r.Close()
			for _, addr := range addrs {
				if _, err := r.AppendFile(nil, path, addr); err != nil {
					t.Fatal(err)
				}
			}
			if errs := r.Refused(); len(errs) != 1 || !strings.Contains(errs[0].Error(), c.want) || !strings.Contains(errs[0].Error(), path) {
				t.Errorf("got %v, want one error with %q", errs, c.want)
			}
		})
	}
}

// TestDynamic names all exported functions of libraries that have no other symbols.
func TestDynamic(t *testing.T) {
	for _, pattern := range []string{"/usr/lib/*-linux-gnu/libstdc++.so.6", "/usr/lib/postgresql/*/bin/postgres"} {
		paths, _ := filepath.Glob(pattern)
		if len(paths) == 0 {
			needs.Skip(t, "needs %s", pattern)
		}
		f, err := elf.Open(paths[0])
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		all, err := f.DynamicSymbols()
		if err != nil {
			t.Fatal(err)
		}
		names := map[uint64][]string{} // of functions by address
		for _, s := range all {
			if typ := elf.ST_TYPE(s.Info); (typ == elf.STT_FUNC || typ == elf.STT_GNU_IFUNC) && s.Section != elf.SHN_UNDEF && s.Size > 0 {
				names[s.Value] = append(names[s.Value], s.Name)
			}
		}
		r := symbols.NewResolver(nil)
		defer r.Close()
		wrong := 0
		for addr, want := range names {
			got, err := r.AppendFile(nil, paths[0], addr)
			if err != nil {
				t.Fatal(err)
			}
			if name := got[len(got)-1].Func; !slices.ContainsFunc(want, func(s string) bool { return mangled.Source(s) == name }) {
				if wrong++; wrong < 5 {
					t.Errorf("%s %#x: got %q, want one of %q", paths[0], addr, name, want)
				}
			}
		}
		if len(names) < 1000 {
			t.Errorf("%s: %d functions are exported, want more", paths[0], len(names))
		}
	}
}

// TestStubs names the procedure linkage table as objdump does.
func TestStubs(t *testing.T) {
	needs.Tools(t, "objdump")
	for _, flags := range [][]string{{"-O2", "-no-pie"}, {"-O2", "-fcf-protection=full", "-Wl,-z,ibtplt"}, {"-O2", "-Wl,-z,now"}} {
		path := needs.Compile(t, "testdata/deep.c", append([]string{"gcc"}, flags...)...)
		r := symbols.NewResolver(nil)
		defer r.Close()
		found := 0
		for line := range strings.Lines(needs.Run(t, "objdump", "-d", "--section=.plt", "--section=.plt.sec", "--section=.plt.got", path)) {
			var addr uint64
			var name string
			if n, _ := fmt.Sscanf(line, "%x <%s", &addr, &name); n != 2 || !strings.Contains(name, "@plt>:") || strings.HasPrefix(name, "*ABS*") {
				continue
			}
			found++
			got, err := r.AppendFile(nil, path, addr)
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.TrimSuffix(name, ">:"); got[0].Func != want {
				t.Errorf("%v %#x: got %+v, want %s", flags, addr, got, want)
			}
		}
		if found < 5 {
			t.Errorf("%v: objdump shows %d stubs", flags, found)
		}
	}
}
