package symbols_test

import (
	"bytes"
	"cmp"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/mangled"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/symbols"
)

// sample returns addresses all over the functions in the symbol table of the file at
// path, up to count of them.
// It also returns the addresses by name.
func sample(t testing.TB, path string, count int) (addrs []uint64, bySymbol aliases) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	bySymbol = aliases{}
	var code uint64
	functions := slices.DeleteFunc(all, func(s elf.Symbol) bool {
		return elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Size == 0 || s.Section == elf.SHN_UNDEF
	})
	for _, s := range functions {
		code += s.Size
		name, _, _ := strings.Cut(s.Name, "@")
		name = mangled.Source(name)
		bySymbol[name] = append(bySymbol[name], s.Value)
	}
	step := max(code/uint64(count), 1)
	at := uint64(0) // the next address, counted from the first function
	for _, s := range functions {
		for ; at < s.Size; at += step {
			addrs = append(addrs, s.Value+at)
		}
		at -= s.Size
	}
	return addrs, bySymbol
}

// aliases are the addresses of functions by name: versions of a function share theirs.
type aliases map[string][]uint64

// same reports whether two names are of one function.
func (a aliases) same(name, other string) bool {
	return slices.ContainsFunc(a[name], func(addr uint64) bool { return slices.Contains(a[other], addr) })
}

// peerFrames returns what llvm-symbolizer says about addresses: for each, the functions
// with their files and lines, the innermost first.
func peerFrames(t testing.TB, path string, addrs []uint64) [][]string {
	t.Helper()
	var in bytes.Buffer
	for _, a := range addrs {
		fmt.Fprintf(&in, "%#x\n", a)
	}
	cmd := exec.Command("llvm-symbolizer", "--no-demangle", "--inlines", "--functions=linkage", "--obj="+path)
	cmd.Stdin = &in
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", cmd, err)
	}
	var out [][]string
	// A line with the function is followed by one with the place. An empty line ends
	// an address.
	frames, name := []string(nil), ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "":
			out, frames = append(out, frames), nil
		case name == "":
			name = line
		default:
			place := line[:strings.LastIndexByte(line, ':')] // without the column
			frames, name = append(frames, name+" "+place), ""
		}
	}
	return out
}

// clones are what compilers append to the symbols of parts and copies of functions.
var clones = regexp.MustCompile(`(\.(cold|part|constprop|isra|lto_priv|llvm|localalias)(\.\d+)*)+$`)

// zero is a line that is not known.
var zero = regexp.MustCompile(` \S+:0$`)

// checkFrames compares the frames of addresses of a file with those of llvm-symbolizer.
// At least the share of them must be equal; the names of a function that has several
// are.
func checkFrames(t *testing.T, path, table string, share float64) {
	t.Helper()
	addrs, known := sample(t, table, 3000/(4+slowdown))
	want := peerFrames(t, path, addrs)
	if len(want) != len(addrs) {
		t.Fatalf("llvm-symbolizer has %d answers to %d questions", len(want), len(addrs))
	}
	r := symbols.NewResolver(nil)
	defer r.Close()
	differ, inlined := 0, 0
	for i, a := range addrs {
		got, err := r.AppendFile(nil, path, a)
		if err != nil {
			t.Fatal(err)
		}
		var g, w string
		for j := range max(len(got), len(want[i])) {
			if g, w = "nothing", "nothing"; j < len(got) {
				g = fmt.Sprintf("%s %s:%d", cmp.Or(got[j].Func, "??"), cmp.Or(got[j].File, "??"), got[j].Line)
			}
			if j < len(want[i]) {
				name, place, _ := strings.Cut(want[i][j], " ")
				name = mangled.Source(clones.ReplaceAllString(name, ""))
				w = name + " " + place
				if j < len(got) && known.same(name, got[j].Func) {
					w = got[j].Func + " " + place
				}
			}
			// A compiler that knows no line writes 0.
			if g, w = zero.ReplaceAllString(g, " ?"), zero.ReplaceAllString(w, " ?"); g != w {
				break
			}
		}
		if len(got) > 1 {
			inlined++
		}
		if strings.HasPrefix(w, "?? ") {
			continue // it knows nothing
		}
		if g != w {
			if differ++; differ <= 5 {
				t.Logf("%s %#x:\ngot  %.200s\nwant %.200s", filepath.Base(path), a, g, w)
			}
		}
	}
	if equal := 1 - float64(differ)/float64(len(addrs)); equal < share {
		t.Errorf("%s: %.2f %% of %d addresses have the frames of llvm-symbolizer, want %.2f %%", path, 100*equal, len(addrs), 100*share)
	} else {
		t.Logf("%.2f %% of %d addresses have the frames of llvm-symbolizer", 100*equal, len(addrs))
	}
	if inlined == 0 {
		t.Errorf("%s: no function is inlined", path)
	}
}

// TestDWARF compares with llvm-symbolizer, on programs by several compilers and in
// several versions of DWARF.
func TestDWARF(t *testing.T) {
	needs.Tools(t, "llvm-symbolizer")
	for _, compile := range [][]string{
		{"g++", "-O2", "-gdwarf-5"},
		{"g++", "-O1", "-gdwarf-4", "-gdwarf64", "-gz"},
		{"clang++", "-O2", "-gdwarf-5"},
		{"clang++", "-O1", "-gdwarf-3"},
		{"g++", "-O2", "-g", "-flto", "-ffunction-sections", "-Wl,--gc-sections"},
	} {
		t.Run(strings.Join(compile, " "), func(t *testing.T) {
			p := needs.Compile(t, "testdata/shop.cc", compile...)
			checkFrames(t, p, p, 0.99)
		})
	}
	t.Run("rustc", func(t *testing.T) {
		needs.Tools(t, "rustc")
		p := filepath.Join(t.TempDir(), "shop")
		needs.Run(t, "rustc", "-O", "-g", "-o", p, "testdata/shop.rs")
		checkFrames(t, p, p, 0.99)
	})
	t.Run("libc", func(t *testing.T) {
		libcs, _ := filepath.Glob("/lib/*-linux-gnu/libc.so.6")
		if len(libcs) == 0 {
			needs.Skip(t, "needs Debian's C library")
		}
		checkFrames(t, libcs[0], debugFileOf(t, libcs[0], "libc6-dbg"), 0.99)
	})
}

// debugFileOf returns the separate debug file of a library of Debian's.
func debugFileOf(t testing.TB, path, pkg string) string {
	t.Helper()
	f, err := reader.Open(path)
	if err != nil {
		needs.Skip(t, "needs %s: %v", path, err)
	}
	defer f.Close()
	id := f.BuildID()
	debug := "/usr/lib/debug/.build-id/" + id[:2] + "/" + id[2:] + ".debug"
	if _, err := os.Stat(debug); err != nil {
		needs.Skip(t, "needs %s: %v", pkg, err)
	}
	return debug
}
