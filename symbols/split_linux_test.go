package symbols_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/symbols"
)

// TestSplit compares the names and lines of a program with the ones that -gsplit-dwarf puts into
// a file of their own, or into a package.
func TestSplit(t *testing.T) {
	needs.Tools(t, "llvm-dwp")
	for _, flags := range []string{"g++ -gdwarf-5", "g++ -gdwarf-4", "clang++ -gdwarf-5", "clang++ -gdwarf-4"} {
		t.Run(flags, func(t *testing.T) {
			command := append(strings.Fields(flags), "-O2")
			whole := needs.Compile(t, "testdata/shop.cc", command...)
			object := needs.Compile(t, "testdata/shop.cc", append(command, "-gsplit-dwarf", "-c")...)
			path := filepath.Join(t.TempDir(), "shop")
			needs.Run(t, "mv", object, path+".o")
			needs.Run(t, command[0], path+".o", "-o", path)
			addrs, _ := sample(t, whole, 600)
			frames := func(path string) (out []string) {
				r := symbols.NewResolver(nil)
				defer r.Close()
				for _, addr := range addrs {
					f, err := r.AppendFile(nil, path, addr)
					if err != nil {
						t.Fatal(err)
					}
					for i := range f {
						f[i].Module, f[i].BuildID = "", ""
					}
					out = append(out, fmt.Sprint(f))
				}
				for _, err := range r.Refused() {
					out = append(out, err.Error())
				}
				return out
			}
			want := frames(whole)
			check := func(how string, got []string) {
				for i := range want {
					if len(got) != len(want) || got[i] != want[i] {
						t.Fatalf("%s: %#x:\ngot  %s %q\nwant %s", how, addrs[i], got[i], got[len(want):], want[i])
					}
				}
			}
			check("a file", frames(path))
			dwo, err := filepath.Glob(filepath.Join(filepath.Dir(object), "*.dwo"))
			if err != nil || len(dwo) != 1 {
				t.Fatalf("files %q, %v", dwo, err)
			}
			needs.Run(t, "llvm-dwp", dwo[0], "-o", path+".dwp")
			if err := os.Rename(dwo[0], dwo[0]+"~"); err != nil {
				t.Fatal(err)
			}
			check("a package", frames(path))
			os.Remove(path + ".dwp")
			if got := frames(path); len(got) != len(want)+1 || !strings.Contains(got[len(want)], dwo[0]) {
				t.Errorf("a missing file is not said: %q", got[len(want):])
			}
			if err := os.Rename(dwo[0]+"~", dwo[0]); err != nil {
				t.Fatal(err)
			}
			needs.Run(t, "chmod", "666", dwo[0])
			if got := frames(path); len(got) != len(want)+1 || !strings.Contains(got[len(want)], "can write") {
				t.Errorf("a file that anybody can write is read: %q", got[len(want):])
			}
		})
	}
}
