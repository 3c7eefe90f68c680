//go:build amd64

package libraries

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestUpstream applies the patch that is offered to cilium/ebpf to the version that this module
// has. With it, and not without, that library loads an object with usdt.bpf.h by itself.
func TestUpstream(t *testing.T) {
	needs.Root(t)
	needs.Tools(t, "git")
	const library = "github.com/cilium/ebpf"
	patch, err := filepath.Abs("../../../docs/upstream/cilium-ebpf-usdt.patch")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	patched, mod := filepath.Join(dir, "ebpf"), filepath.Join(dir, "patched.mod")
	if err := os.CopyFS(patched, os.DirFS(strings.TrimSpace(needs.Run(t, "go", "list", "-m", "-f", "{{.Dir}}", library)))); err != nil {
		t.Fatal(err)
	}
	apply := exec.Command("git", "apply", patch)
	apply.Dir, apply.Env = patched, append(os.Environ(), "GIT_CEILING_DIRECTORIES="+dir)
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", apply, err, out)
	}
	for from, to := range map[string]string{"go.mod": mod, "go.sum": filepath.Join(dir, "patched.sum")} {
		b, err := os.ReadFile(filepath.Join("../../..", from))
		if err == nil {
			err = os.WriteFile(to, b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	needs.Run(t, "go", "mod", "edit", "-replace="+library+"="+patched, mod)
	object := needs.CompileBPF(t, "../../../attach/collection/testdata/shop.bpf.c")
	for _, test := range []struct{ mod, want string }{
		{filepath.Join("../../..", "go.mod"), "STB_WEAK"},
		{mod, "1\n"},
	} {
		program := filepath.Join(dir, "upstream")
		needs.Run(t, "go", "build", "-modfile="+test.mod, "-o", program, "./testdata/upstream")
		out, _ := exec.Command(program, object).CombinedOutput()
		if !strings.Contains(string(out), test.want) {
			t.Errorf("with %s the library says %s, want %q", test.mod, out, test.want)
		}
	}
}
