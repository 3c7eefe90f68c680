package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// startUnread starts sdttrace on the probes of a program that fires very fast. Nobody reads the pipe to which
// sdttrace writes.
func startUnread(t *testing.T, provider string) (cmd *exec.Cmd, r, w *os.File, stderr *tracee.Output) {
	t.Helper()
	dir := commands(t, "sdttrace", "traced")
	startTraced(t, dir, provider)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	if _, err := unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, 4096); err != nil {
		t.Fatal(err)
	}
	cmd, stderr = exec.Command(filepath.Join(dir, "sdttrace"), "--buffer", "4K", provider+"*:*"), &tracee.Output{}
	cmd.Stdout, cmd.Stderr = w, stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	return cmd, r, w, stderr
}

// TestLoss leaves sdttrace's output unread, and checks that sdttrace reports
// losses while they happen, and at the end how many events were recorded and not
// read.
func TestLoss(t *testing.T) {
	cmd, r, w, stderr := startUnread(t, "loss")
	stderr.AwaitTrying(t, " events lost until now; the buffer of 4K is full: a larger --buffer helps", func() { skipRefused(t, stderr) })
	w.Close()
	r.Close()
	cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ends with %v", err)
	}
	if said := stderr.String(); !regexp.MustCompile(`\nsdttrace: [1-9][0-9]* events?, [1-9][0-9]* lost, 0 filtered, [1-9][0-9]* unread; attached 3 of 3 sites\n$`).MatchString(said) {
		t.Errorf("it says %s", said)
	}
}
