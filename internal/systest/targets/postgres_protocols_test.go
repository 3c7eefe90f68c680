package targets_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// testProtocols measures statements of the extended protocol: the first look says that it has none of
// them, and names a command that measures the statements of each protocol.
func testProtocols(t *testing.T, p *postgres) {
	script := filepath.Join(p.dir, "protocols.sql")
	if err := os.WriteFile(script, []byte("select pg_sleep(0.001);\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	sdttrace := needs.Build(t, "cmd/sdttrace")
	measure := func(command, mode string) (out, said string) {
		var stdout, stderr tracee.Output
		cmd := exec.Command("sh", "-c", "exec "+strings.Replace(command, "sdttrace", sdttrace, 1)+" --exe "+p.server)
		cmd.Stdout, cmd.Stderr, cmd.Dir = &stdout, &stderr, t.TempDir()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer cmd.Process.Kill()
		stderr.Await(t, "Ctrl-C ends")
		p.client("pgbench", "-n", "-M", mode, "-f", script, "-t", "25")
		p.settled()
		cmd.Process.Signal(syscall.SIGINT)
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, &stderr)
		}
		return stdout.String(), stderr.String()
	}
	remark := regexp.MustCompile(`postgresql:query__done, postgresql:query__start: .* extended one; both are in (sdttrace .*)\n`)
	both := ""
	for _, look := range []string{"sdttrace latency postgresql", "sdttrace page postgresql"} {
		_, said := measure(look, "extended")
		command := remark.FindStringSubmatch(said)
		if command == nil || !strings.Contains(said, "none of them has fired") {
			t.Fatalf("%s says %s, want %v", look, said, remark)
		}
		both = command[1]
	}
	for _, mode := range []string{"simple", "extended", "prepared"} {
		out, said := measure(both, mode)
		if !regexp.MustCompile(`(?m)^ *25 .* "select pg_sleep\(\?\)"$`).MatchString(out) {
			t.Errorf("%s in the %s protocol:\n%s%s, want 25 of the statement", both, mode, out, said)
		}
	}
}
