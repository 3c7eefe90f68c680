package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestInterrupt ends a session as a terminal does: Ctrl-C is for all of its
// processes, the traced command among them, which does not fail thereby.
func TestInterrupt(t *testing.T) {
	needs.Root(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// testscript.Main runs the command that the binary is called by.
	dir := t.TempDir()
	for _, name := range []string{"sdttrace", "traced"} {
		if err := os.Symlink(self, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		cmd := exec.Command(filepath.Join(dir, "sdttrace"), "hello:tick", "--", filepath.Join(dir, "traced"), filepath.Join(dir, "pid"))
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		out := bufio.NewReader(stdout)
		if _, err := out.ReadString('\n'); err != nil {
			cmd.Wait()
			if strings.Contains(stderr.String(), "not allowed") {
				needs.Skip(t, "%s", &stderr)
			}
			t.Fatalf("no event: %v\n%s", err, &stderr)
		}
		if err := syscall.Kill(-cmd.Process.Pid, sig); err != nil {
			t.Error(err)
		}
		for err == nil {
			_, err = out.ReadString('\n')
		}
		cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != exitDone || strings.Contains(stderr.String(), "signal:") {
			t.Errorf("%v: exit code %d, want %d, and what it says is\n%s", sig, code, exitDone, &stderr)
		}
	}
}
