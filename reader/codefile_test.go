package reader_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/reader"
)

// TestImpostor reads files of debug symbols that name a binary by its build-id: the
// binary's own, and one that has the build-id and other probes.
func TestImpostor(t *testing.T) {
	needs.C(t)
	needs.Tools(t, "objcopy")
	dir := t.TempDir()
	prog, other := filepath.Join(dir, "prog"), filepath.Join(dir, "other")
	for path, level := range map[string]string{prog: "-O0", other: "-O2"} {
		needs.Run(t, "gcc", level, "-g", "-Wl,--build-id=0x0123456789abcdef", "-o", path, "testdata/symbols.c")
	}
	info, err := os.Stat(prog)
	if err != nil {
		t.Fatal(err)
	}
	debug := prog + ".debug"
	for from, want := range map[string]bool{prog: true, other: false} {
		needs.Run(t, "objcopy", "--only-keep-debug", from, debug)
		f, err := reader.Open(debug)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for p, err := range f.Probes() {
			if err != nil {
				t.Fatal(err)
			}
			n++
			if got := p.IsIn(info); got != want {
				t.Errorf("%s:%s of %s is said to be in prog: %t", p.Provider, p.Name, from, got)
			}
		}
		if n == 0 {
			t.Errorf("%s has no probes", from)
		}
		f.Close()
	}
}
