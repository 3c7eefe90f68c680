package symbols_test

import (
	"debug/elf"
	"path/filepath"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/symbols"
)

// TestFolded names the code of two functions, of which the linker has kept one, by the lines of the
// function whose name it gets.
func TestFolded(t *testing.T) {
	needs.Tools(t, "clang", "ld.lld")
	for _, version := range []string{"-gdwarf-4", "-gdwarf-5"} {
		path := filepath.Join(t.TempDir(), "folded")
		needs.Run(t, "clang", version, "-O1", "-ffunction-sections", "-fuse-ld=lld", "-Wl,--icf=all", "-o", path, "testdata/folded.c")
		f, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		all, err := f.Symbols()
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		at := map[string]elf.Symbol{}
		for _, s := range all {
			at[s.Name] = s
		}
		if at["first"].Value == 0 || at["first"].Value != at["second"].Value {
			t.Fatalf("the linker has not kept one function of two: %v", at)
		}
		r := symbols.NewResolver(nil)
		defer r.Close()
		for offset := range at["first"].Size {
			frames, err := r.AppendFile(nil, path, at["first"].Value+offset)
			if err != nil || len(frames) != 1 {
				t.Fatalf("%s: %v, error %v", version, frames, err)
			}
			lines := map[string][2]int{"first": {4, 7}, "second": {8, 11}}[frames[0].Func]
			if line := frames[0].Line; line < lines[0] || line > lines[1] {
				t.Errorf("%s: %v, want a line of %d to %d", version, frames[0], lines[0], lines[1])
			}
		}
	}
}
