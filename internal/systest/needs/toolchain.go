package needs

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// Toolchain returns the root of a version of Go ("go1.18.10"), which the go command
// downloads if it is not there. The test is skipped without a network.
func Toolchain(t testing.TB, version string) string {
	t.Helper()
	Tools(t, "go")
	cmd := exec.Command("go", "mod", "download", "-json", "golang.org/toolchain@v0.0.1-"+version+".linux-"+runtime.GOARCH)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod")
	out, err := cmd.Output()
	if err != nil {
		Skip(t, "needs %s, which cannot be downloaded: %v %s", version, err, out)
	}
	_, dir, _ := strings.Cut(string(out), `"Dir": "`)
	dir, _, ok := strings.Cut(dir, `"`)
	if !ok {
		t.Fatalf("go mod download: %s", out)
	}
	return dir
}
