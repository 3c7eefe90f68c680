package needs

import (
	"os"
	"os/exec"
	"path/filepath"
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
	// A module's files cannot be run. The go command changes that of a toolchain when it
	// switches to it, which has perhaps not been done on this machine.
	for _, pattern := range []string{"bin/*", "pkg/tool/*/*"} {
		programs, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(programs) == 0 {
			t.Fatalf("%s: no program in %s: %v", version, pattern, err)
		}
		for _, program := range programs {
			if info, err := os.Stat(program); err == nil && info.Mode()&0o111 != 0 {
				continue
			}
			if err := os.Chmod(program, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}
