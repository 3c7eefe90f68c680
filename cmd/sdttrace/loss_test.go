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

// TestLoss leaves sdttrace's output unread, and checks that sdttrace reports
// losses while they happen, and at the end how many events were recorded and not
// read.
func TestLoss(t *testing.T) {
	dir := commands(t, "sdttrace", "traced")
	startTraced(t, dir, "loss")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if _, err := unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, 4096); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(dir, "sdttrace"), "--buffer", "4K", "loss*:*")
	var stderr tracee.Output
	cmd.Stdout, cmd.Stderr = w, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	stderr.AwaitTrying(t, " events lost until now; the buffer of 4K is full: a larger --buffer helps", func() { skipRefused(t, &stderr) })
	w.Close()
	r.Close()
	cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ends with %v", err)
	}
	if said := stderr.String(); !regexp.MustCompile(`\nsdttrace: [1-9][0-9]* events, [1-9][0-9]* lost, 0 filtered, [1-9][0-9]* unread; attached 3 of 3 sites\n$`).MatchString(said) {
		t.Errorf("it says %s", said)
	}
}
