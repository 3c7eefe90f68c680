package tracee

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// again is the environment variable that names the test that runs once more.
const again = "USDT_TEST_AGAIN"

// Again returns a command that runs the calling test, and no other, in a process of
// its own. Within that process it returns nil. args are flags of the test's package.
//
//	if cmd := tracee.Again(t); cmd != nil {
//		cmd.SysProcAttr = …
//		tracee.Pass(t, cmd)
//		return
//	}
func Again(t testing.TB, args ...string) *exec.Cmd {
	if os.Getenv(again) == t.Name() {
		return nil
	}
	flags := []string{"-test.run=^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$", "-test.v", "-test.timeout=10m"}
	if testing.Short() {
		flags = append(flags, "-test.short")
	}
	return command("/proc/self/exe", append(flags, args...), again+"="+t.Name())
}

// Pass runs a command of [Again] and returns its output. The calling test fails if it
// has not passed there, or has not run.
func Pass(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()+" ") {
		t.Fatalf("in a process of its own: %v\n%s", err, out)
	}
	return string(out)
}
