package interop_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestARM64 runs the provider's tests as arm64 programs under an emulator:
// calls, registers, objects, Close. It does not see the files' noexec mounts
// and mapping counts, which are the emulator's there, and cannot run the programs
// that tests start; "make test-kernels" has an arm64 kernel for that.
func TestARM64(t *testing.T) {
	need(t, "qemu-aarch64-static")
	for _, pkg := range []struct{ path, run string }{
		{"internal/stub", "^Test(Registers|Addresses|GrowingStack|Code|NoSite)$"},
		{"internal/sys", "Release|Span|Memfd"},
		{"provider", "^Test(Check|Object|DeclarationErrors|LoadLater|ForcedSite|Enabled|Close.*|Record(Note|Types|Refused|Fire|sAreToldApart|er|erMoves|erFiles|erLayouts)|Group|NoAllocs|SameBytes.*|Environment)$"},
	} {
		exe := filepath.Join(t.TempDir(), "arm64.test")
		cmd := exec.Command("go", "test", "-c", "-o", exe, "github.com/go-usdt/usdt/"+pkg.path)
		cmd.Env = append(cmd.Environ(), "GOARCH=arm64", "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go test -c %s: %v\n%s", pkg.path, err, out)
		}
		cmd = exec.Command("qemu-aarch64-static", exe, "-test.run", pkg.run, "-test.v")
		cmd.Dir = filepath.Join("..", "..", "..", filepath.FromSlash(pkg.path))
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: ") {
			t.Errorf("%s: %v\n%s", pkg.path, err, out)
		}
	}
}
