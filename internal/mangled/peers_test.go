package mangled_test

import (
	"debug/elf"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/mangled"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// ostream is a type that c++filt writes in two ways, and clones what comes behind names
// of parts of functions.
var (
	ostream = regexp.MustCompile(`std::basic_ostream<char,std::char_traits<char>>`)
	clones  = regexp.MustCompile(`(\(\.|\[clone\.).*$`)
	address = regexp.MustCompile(`L_?Z`) // of a function, as an argument of a template
)

// plain returns a name without what demanglers disagree about.
func plain(name string) string {
	name = strings.ReplaceAll(name, " ", "")
	return clones.ReplaceAllString(ostream.ReplaceAllString(name, "std::ostream"), "")
}

// within reports whether all that is in part is in whole, in that order.
func within(part, whole string) bool {
	for _, c := range []byte(part) {
		i := strings.IndexByte(whole, c)
		if i < 0 {
			return false
		}
		whole = whole[i+1:]
	}
	return true
}

// compare demangles symbols as c++filt and llvm-cxxfilt do, and checks that no name is
// another than either's. It returns how many stay as they are.
func compare(t *testing.T, of string, symbols []string) (left int) {
	t.Helper()
	var peers [][]string
	for _, peer := range []string{"c++filt", "llvm-cxxfilt"} {
		cmd := exec.Command(peer)
		cmd.Stdin = strings.NewReader(strings.Join(symbols, "\n") + "\n")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", peer, err)
		}
		peers = append(peers, strings.Split(string(out), "\n"))
	}
	wrong := 0
	for i, symbol := range symbols {
		got := mangled.Source(symbol)
		gnu, llvm := peers[0][i], peers[1][i]
		switch g := plain(got); {
		case g == plain(gnu), g == plain(llvm):
		case got == symbol:
			left++
		case address.MatchString(symbol) && within(g, plain(gnu)): // the parameters of that function are left out
		default:
			if wrong++; wrong <= 5 {
				t.Errorf("%s: %s\ngot          %s\nc++filt      %s\nllvm-cxxfilt %s", of, symbol, got, gnu, llvm)
			}
		}
	}
	t.Logf("%s: %d symbols, %d wrong, %d left as they are", of, len(symbols), wrong, left)
	return left
}

// symbolsOf returns the symbols of C++ and Rust that a file exports or has in its table.
func symbolsOf(t *testing.T, path string) (out []string) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, _ := f.Symbols()
	dynamic, _ := f.DynamicSymbols()
	for _, s := range append(all, dynamic...) {
		if mangled.Is(s.Name) && s.Section != elf.SHN_UNDEF {
			out = append(out, s.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestPeers compares the symbols of large libraries with what other demanglers make of
// them.
func TestPeers(t *testing.T) {
	needs.Tools(t, "c++filt", "llvm-cxxfilt")
	for name, pattern := range map[string]string{
		"libLLVM":      "/usr/lib/*-linux-gnu/libLLVM-1*.so.1",
		"libclang-cpp": "/usr/lib/llvm-*/lib/libclang-cpp.so.*",
		"libstdc++":    "/usr/lib/*-linux-gnu/libstdc++.so.6",
		"libjvm":       "/usr/lib/jvm/*/lib/server/libjvm.so",
	} {
		t.Run(name, func(t *testing.T) {
			paths, _ := filepath.Glob(pattern)
			if len(paths) == 0 {
				needs.Skip(t, "needs %s", pattern)
			}
			symbols := symbolsOf(t, paths[0])
			if left := compare(t, name, symbols); left > len(symbols)/1000 {
				t.Errorf("%d of %d symbols stay as they are", left, len(symbols))
			}
		})
	}
}

// TestUnresolved demangles names that depend on an argument, by two compilers, whose
// grammars differ.
func TestUnresolved(t *testing.T) {
	needs.Tools(t, "c++filt", "llvm-cxxfilt")
	for _, compile := range [][]string{{"g++", "-std=c++17", "-w"}, {"clang++", "-std=c++17", "-w"}} {
		path := needs.Compile(t, "testdata/unresolved.cc", compile...)
		symbols := slices.DeleteFunc(symbolsOf(t, path), func(s string) bool {
			return !strings.HasPrefix(s, "_Z1f") && !strings.HasPrefix(s, "_Z2f") && !strings.HasPrefix(s, "_Z3f")
		})
		if len(symbols) != 10 {
			t.Fatalf("%v: %d functions, want 10", compile, len(symbols))
		}
		if left := compare(t, compile[0], symbols); left > 0 {
			t.Errorf("%v: %d symbols stay as they are", compile, left)
		}
	}
}
