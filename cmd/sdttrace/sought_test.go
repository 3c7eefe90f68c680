package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestSoughtMeanwhile checks that a command which runs on without the probes is reported while it does.
func TestSoughtMeanwhile(t *testing.T) {
	needs.Root(t)
	needs.Tools(t, "cat")
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	p := tracee.StartVictim(t, exec.Command(filepath.Join(commands(t, "sdttrace"), "sdttrace"), "count", "nosuch:probe", "--", "cat", fifo))
	p.Stderr().Await(t, "; the command goes on, Ctrl-C ends it\n")
	w, err := os.OpenFile(fifo, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	p.Rest()
	p.End()
	if out := p.Stderr().String(); !strings.HasPrefix(out, "sdttrace: no probe matches nosuch:probe in process ") {
		t.Errorf("got %q", out)
	}
}

// TestStoppedProcess checks that a process is reported whose probes cannot fire since it is stopped.
func TestStoppedProcess(t *testing.T) {
	dir := commands(t, "sdttrace", "traced")
	pid := startTraced(t, dir, "stopped").PID()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(pid, syscall.SIGCONT)
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("the process is not stopped: %v, %v", status, err)
	}
	var stdout, stderr strings.Builder
	executed(t, &stdout, &stderr)("count", "stopped:*", "-p", fmt.Sprint(pid), "--duration", "1ms")
	if want := fmt.Sprintf("sdttrace: process %d is stopped, and none of its probes fires until kill -CONT %[1]d\n", pid); !strings.Contains(stderr.String(), want) {
		t.Errorf("got %q, want %q in it", stderr.String(), want)
	}
}

// TestEmptyCommand checks what is said of a command without a name.
func TestEmptyCommand(t *testing.T) {
	var stdout, stderr strings.Builder
	if code := run(t.Context(), []string{"a:b", "--", ""}, &stdout, &stderr); code != exitUsage || !strings.HasPrefix(stderr.String(), "sdttrace: the name of the command after -- is empty\n") {
		t.Errorf("exit code %d, %q", code, stderr.String())
	}
}
