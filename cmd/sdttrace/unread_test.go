package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestUnreadPipe interrupts sdttrace while it writes to a pipe that nobody reads: it ends, and says
// that the output is not whole.
func TestUnreadPipe(t *testing.T) {
	dir := commands(t, "sdttrace", "traced")
	startTraced(t, dir, "unread")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if _, err := unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, 4096); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(dir, "sdttrace"), "--buffer", "4K", "unread*:*")
	var stderr tracee.Output
	cmd.Stdout, cmd.Stderr = w, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	stderr.AwaitTrying(t, " events lost until now", func() { skipRefused(t, &stderr) }) // since nobody reads
	cmd.Process.Signal(os.Interrupt)
	stderr.Await(t, "sdttrace: write output: nobody reads the pipe, so that the rest is left out\n")
	stderr.Await(t, " sites\n")
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != exitFailed {
		t.Errorf("it ends with %v", err)
	}
}
