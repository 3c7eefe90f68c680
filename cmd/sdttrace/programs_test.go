package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// commands returns a directory of links to the test binary, one for each command
// that TestMain knows. Programs that the test starts handle signals by default.
func commands(t *testing.T, names ...string) (dir string) {
	t.Helper()
	needs.Root(t)
	resetSignals()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for _, name := range names {
		if err := os.Symlink(self, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// executed returns a function that executes sdttrace, fills two buffers with what it prints and returns its exit code.
func executed(t *testing.T, stdout, stderr *strings.Builder) func(args ...string) int {
	t.Helper()
	path := filepath.Join(commands(t, "sdttrace"), "sdttrace")
	return func(args ...string) int {
		t.Helper()
		stdout.Reset()
		stderr.Reset()
		cmd := exec.CommandContext(t.Context(), path, args...)
		cmd.Stdout, cmd.Stderr = stdout, stderr
		if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
			t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode()
	}
}

// resetSignals makes this process handle from now on the signals that it was
// started to ignore, as by nohup and by shells in the background: child processes
// inherit ignored signals, and get the default for handled ones. Once is enough,
// and it must not be undone: the process would silently ignore the signals again.
var resetSignals = sync.OnceFunc(func() {
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
})

// TestInheritedSignals checks that programs which tests start do not ignore what the
// test binary was started to ignore.
func TestInheritedSignals(t *testing.T) {
	const again = "SDTTRACE_TEST_IGNORES"
	if os.Getenv(again) == "" {
		needs.Tools(t, "sh")
		cmd := exec.Command("sh", "-c", `trap "" HUP INT; exec "$0" -test.run "^TestInheritedSignals$"`, fmt.Sprintf("/proc/%d/exe", os.Getpid()))
		cmd.Env = append(os.Environ(), again+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	if !signal.Ignored(syscall.SIGHUP) || !signal.Ignored(syscall.SIGINT) {
		t.Fatal("the test binary does not ignore the signals")
	}
	dir := commands(t, "dispositions")
	out, err := exec.Command(filepath.Join(dir, "dispositions")).CombinedOutput()
	if want := "ignored: false false\n"; err != nil || !strings.HasSuffix(string(out), want) {
		t.Errorf("got %q (%v), want %q at its end", out, err, want)
	}
}

// startTraced starts the program traced, from the directory of commands, with a
// provider of its own.
func startTraced(t *testing.T, dir, provider string) *tracee.Program {
	t.Helper()
	cmd := exec.Command(filepath.Join(dir, "traced"), "-")
	cmd.Env = append(os.Environ(), "PROVIDER="+provider)
	return tracee.StartVictim(t, cmd).Ready()
}

// startTracer starts a program that traces until the returned function is called.
func startTracer(t *testing.T, name string, args ...string) (pid int, stop func()) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Stdout = io.Discard
	p := tracee.StartVictim(t, cmd)
	return p.PID(), func() {
		p.Signal(os.Interrupt)
		p.End()
		if t.Failed() {
			t.Logf("%s said: %s", name, p.Stderr())
		}
	}
}

// skipRefused skips the test if a tracer that it started may not attach.
func skipRefused(t *testing.T, said fmt.Stringer) {
	if text := said.String(); strings.Contains(text, "not allowed") {
		needs.Skip(t, "%s", text)
	}
}
