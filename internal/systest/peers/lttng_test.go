package peers

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// lttng is the program of testdata/lttng, whose tracepoints are enabled.
type lttng struct {
	b *testing.B
	*tracee.Program
}

// startLTTng builds and starts the program, in a session of LTTng that keeps the last
// events in memory (a snapshot session: overwrite mode, 4 buffers of 1 MiB for each CPU,
// and nobody reads). It returns nil, and says why, where LTTng is not installed
// (Debian's lttng-tools and liblttng-ust-dev) or is in use.
func startLTTng(b *testing.B) *lttng {
	b.Helper()
	for _, tool := range []string{"gcc", "lttng", "lttng-sessiond"} {
		if _, err := exec.LookPath(tool); err != nil {
			b.Logf("without LTTng-UST: %v", err)
			return nil
		}
	}
	dir := b.TempDir()
	exe, pidFile := filepath.Join(dir, "lttng"), filepath.Join(dir, "pid")
	if out, err := exec.Command("gcc", "-O2", "-Itestdata/lttng", "-o", exe, "testdata/lttng/main.c", "-llttng-ust", "-ldl").CombinedOutput(); err != nil {
		b.Logf("without LTTng-UST, whose package is liblttng-ust-dev: %v\n%s", err, out)
		return nil
	}
	run := func(args ...string) error {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = append(os.Environ(), "LTTNG_HOME="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil {
			b.Logf("%s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return err
	}
	// It returns once the daemon is ready.
	if err := run("lttng-sessiond", "--daemonize", "--no-kernel", "--pidfile="+pidFile); err != nil {
		b.Log("without LTTng-UST, whose daemon runs already, or cannot")
		return nil
	}
	b.Cleanup(func() {
		run("lttng", "destroy", "peers")
		text, err := os.ReadFile(pidFile)
		if pid, numberErr := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && numberErr == nil {
			syscall.Kill(pid, syscall.SIGTERM)
		}
	})
	for _, command := range []string{
		"create peers --snapshot --output=" + filepath.Join(dir, "snapshots"),
		"enable-channel --userspace --subbuf-size=1M --num-subbuf=4 ring",
		"enable-event --userspace --channel=ring peers:*",
		"start",
	} {
		if err := run(append([]string{"lttng"}, strings.Fields(command)...)...); err != nil {
			b.Fatal(err)
		}
	}
	cmd := exec.Command(exe)
	// It waits until the daemon has enabled its tracepoints.
	cmd.Env = append(os.Environ(), "LTTNG_HOME="+dir, "LTTNG_UST_REGISTER_TIMEOUT=-1")
	c := &lttng{b, tracee.Start(b, cmd)}
	c.Line()
	for range 100 {
		c.run("integers", 10_000) // which writes to each page of the buffers
	}
	return c
}

// run returns what the program measured, in nanoseconds.
func (c *lttng) run(what string, n int) float64 {
	c.b.Helper()
	ns, err := strconv.ParseFloat(c.Do("%s %d", what, n), 64)
	if err != nil {
		c.b.Fatal(err)
	}
	return ns
}
