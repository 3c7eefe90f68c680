package abuse_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestLimits runs the commands with less than they need: each says so in one line.
func TestLimits(t *testing.T) {
	sdtdump, sdttrace := needs.Build(t, "cmd/sdtdump"), needs.Build(t, "cmd/sdttrace")
	check := func(t *testing.T, script, want string) {
		t.Helper()
		out, err := exec.Command("sh", "-c", script).CombinedOutput()
		if err == nil || strings.Count(string(out), "\n") != 1 || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, %.400s; want an error in one line with %q", script, err, out, want)
		}
	}
	for _, command := range []string{sdtdump + " -a", sdttrace + " list", sdttrace + " --duration 1s 'none*:none'", sdttrace + " top --duration 1s"} {
		for _, files := range []int{5, 6, 7, 8, 12, 63} {
			check(t, fmt.Sprintf("ulimit -n %d; exec %s", files, command), "ulimit -n")
		}
		// With less, Go's runtime may end before any package is initialised.
		check(t, fmt.Sprintf("ulimit -v 1950000; exec %s", command), "ulimit -v")
	}
	needs.Root(t)
	if out, err := exec.Command("unshare", "-m", "true").CombinedOutput(); err != nil {
		needs.Skip(t, "no namespaces here: %s", out)
	}
	for _, command := range []string{
		sdtdump + " -a", sdtdump + " -p 1", sdttrace + " list", sdttrace + " -p 1 a:b", sdttrace + " --duration 1s 'none*:none'",
		sdttrace + " --user --duration 1s 'none*:none'", sdttrace + " top --duration 1s",
	} {
		check(t, fmt.Sprintf("exec unshare -m sh -c 'mount -t tmpfs none /proc; exec %s'", strings.ReplaceAll(command, "'", `'\''`)), "/proc is not mounted")
	}
}
