// Package needs declares what tests need from the machine that they run on. Tests
// without it are skipped, or fail in CI, where everything is installed.
package needs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Skip skips the test, or fails it in CI, because the machine lacks something.
func Skip(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// Root skips the test unless it runs as root.
func Root(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		Skip(t, "needs root")
	}
}

// Tools skips the test unless these programs are installed.
func Tools(t testing.TB, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			Skip(t, "needs %s", tool)
		}
	}
}

// C skips the test unless C programs with probes can be compiled.
func C(t testing.TB) {
	t.Helper()
	if out, err := exec.Command("gcc", "-fsyntax-only", "-include", "sys/sdt.h", "-xc", "/dev/null").CombinedOutput(); err != nil {
		Skip(t, "needs gcc and sys/sdt.h (systemtap-sdt-dev): %v %s", err, out)
	}
}

// Run runs a program, which must succeed, and returns what it writes.
func Run(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// Build builds a command of this module, named by its directory, and returns
// the program's path. It copies sdttrace from where make test has built it.
func Build(t testing.TB, dir string, env ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), filepath.Base(dir))
	once(t, fmt.Sprintf("go build %s %q", dir, env), out, func() { build(t, out, dir, env...) })
	return out
}

func build(t testing.TB, out, dir string, env ...string) {
	t.Helper()
	if built := os.Getenv("SDTTRACE"); built != "" && dir == "cmd/sdttrace" && len(env) == 0 {
		Run(t, "cp", built, out)
		return
	}
	Tools(t, "go")
	cmd := exec.Command("go", "build", "-o", out, "github.com/go-usdt/usdt/"+dir)
	cmd.Env = append(os.Environ(), env...)
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", dir, err, msg)
	}
}
