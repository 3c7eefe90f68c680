package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/interrupt"
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

// TestInterruptedBefore sends a signal before there is anything to show, and checks
// what the command then says and returns.
func TestInterruptedBefore(t *testing.T) {
	pid := fmt.Sprint(os.Getpid())
	for _, test := range []struct {
		by   syscall.Signal
		args []string
		want string
	}{
		{syscall.SIGINT, []string{"-p", pid, "x:y"}, "sdttrace: interrupted before anything was attached\n"},
		{syscall.SIGINT, []string{"--wait", "--duration", "1h", "x:y"}, "sdttrace: interrupted before anything was attached\n"},
		{syscall.SIGTERM, []string{"count", "-p", pid, "x:y"}, "sdttrace: interrupted by SIGTERM before anything was attached\n"},
		{syscall.SIGHUP, []string{"latency", "x:y", "x:z", "-p", pid}, "sdttrace: interrupted by SIGHUP before anything was attached\n"},
		{syscall.SIGINT, []string{"list", "x:y"}, "sdttrace: interrupted\n"},
		{syscall.SIGINT, []string{"list", "-p", pid, "uprobe:*:main.main"}, "sdttrace: interrupted\n"},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(&interrupt.Cause{By: test.by})
		var stdout, stderr bytes.Buffer
		code := run(ctx, test.args, &stdout, &stderr)
		if want := exitSignal + int(test.by); code != want || stdout.Len() > 0 || stderr.String() != test.want {
			t.Errorf("%q: exit code %d, %q and %q, want %d, nothing and %q", test.args, code, &stdout, &stderr, want, test.want)
		}
	}
}

// TestInterruptedAttaching sends a signal while sdttrace looks for the thousands of
// functions of a program: it ends by that signal.
func TestInterruptedAttaching(t *testing.T) {
	dir := commands(t, "sdttrace", "traced")
	traced := fmt.Sprint(startTraced(t, dir, "attaching").PID())
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		cmd := exec.Command(filepath.Join(dir, "sdttrace"), "count", "-p", traced, "uprobe:*:*")
		p := tracee.StartVictim(t, cmd)
		for deadline := time.Now().Add(time.Minute); !holdsProcess(p.PID()); {
			if time.Now().After(deadline) {
				t.Fatalf("sdttrace does not begin to attach: %s", p.Stderr())
			}
		}
		p.Signal(sig)
		p.End()
		skipRefused(t, p.Stderr())
		status := cmd.ProcessState.Sys().(syscall.WaitStatus)
		said := p.Stderr().String()
		if !status.Signaled() || status.Signal() != sig || !strings.HasSuffix(said, "before anything was attached\n") || strings.Count(said, "\n") != 1 {
			t.Errorf("%v: it ends with %v and says %q", sig, cmd.ProcessState, said)
		}
	}
}

// holdsProcess reports whether a process has a descriptor of another one, the first
// thing that attaching to a process takes.
func holdsProcess(pid int) bool {
	descriptors := fmt.Sprintf("/proc/%d/fd", pid)
	entries, _ := os.ReadDir(descriptors) // the process may have ended
	for _, e := range entries {
		if to, err := os.Readlink(filepath.Join(descriptors, e.Name())); err == nil && strings.Contains(to, "pidfd") {
			return true
		}
	}
	return false
}
