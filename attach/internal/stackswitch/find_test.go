package stackswitch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/safeelf"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestFind looks for switches in code of each kind in testdata.
func TestFind(t *testing.T) {
	for machine, target := range map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"} {
		t.Run(machine, func(t *testing.T) {
			needs.Tools(t, "clang")
			text, err := os.ReadFile("testdata/" + machine + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			for _, kind := range strings.Split("\n"+string(text), "\n== ")[1:] {
				head, code, _ := strings.Cut(kind, "\n")
				name, want, _ := strings.Cut(head, " ")
				dir := t.TempDir()
				source, object := filepath.Join(dir, "kind.s"), filepath.Join(dir, "kind.o")
				if err := os.WriteFile(source, []byte(code+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				needs.Run(t, "clang", "--target="+target, "-c", "-o", object, source)
				if got := found(t, object); got != (want == "yes") {
					t.Errorf("%s: found %t, want %s", name, got, want)
				}
			}
		})
	}
}

// TestCompiled checks that nothing that compilers make of arrays on the stack is taken for a
// switch.
func TestCompiled(t *testing.T) {
	for _, compiler := range []string{"gcc", "clang", "clang --target=aarch64-linux-gnu"} {
		t.Run(compiler, func(t *testing.T) {
			command := strings.Fields(compiler)
			needs.Tools(t, command[0])
			for _, options := range []string{"-O0", "-O1", "-O2", "-O3", "-Os", "-O2 -fno-omit-frame-pointer", "-O2 -fstack-protector-all -fstack-clash-protection"} {
				object := filepath.Join(t.TempDir(), "compiled.o")
				needs.Run(t, command[0], slices.Concat(command[1:], strings.Fields(options), []string{"-w", "-c", "-o", object, "testdata/compiled.c"})...)
				if found(t, object) {
					t.Errorf("%s: found a switch", options)
				}
			}
		})
	}
}

func found(t *testing.T, path string) bool {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	e, err := safeelf.NewFile(f)
	if err != nil {
		t.Fatal(err)
	}
	_, ok := Find(e, func(uint64) (uint64, bool, bool) { return 0, false, false })
	return ok
}
