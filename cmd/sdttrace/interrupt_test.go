package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestInterrupt ends a session as a terminal does: Ctrl-C goes to all processes,
// and the traced command does not count as failed.
func TestInterrupt(t *testing.T) {
	dir := commands(t, "sdttrace", "traced")
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		cmd := exec.Command(filepath.Join(dir, "sdttrace"), "hello:tick", "--", filepath.Join(dir, "traced"), filepath.Join(dir, "pid"))
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		p := tracee.StartVictim(t, cmd)
		if _, err := p.Next(); err != nil {
			p.End()
			skipRefused(t, p.Stderr())
			t.Fatalf("no event: %v\n%s", err, p.Stderr())
		}
		if err := syscall.Kill(-p.PID(), sig); err != nil {
			t.Error(err)
		}
		p.Rest()
		p.End()
		if code := cmd.ProcessState.ExitCode(); code != exitDone || strings.Contains(p.Stderr().String(), "signal:") {
			t.Errorf("%v: exit code %d, want %d, and what it says is\n%s", sig, code, exitDone, p.Stderr())
		}
	}
}
