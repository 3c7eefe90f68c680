package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestWaitInterrupted checks that interrupting sdttrace while it waits for probes
// is no failure.
func TestWaitInterrupted(t *testing.T) {
	dir := commands(t, "sdttrace")
	p := tracee.StartVictim(t, exec.Command(filepath.Join(dir, "sdttrace"), "--wait", "wait_interrupted:probe"))
	p.Stderr().Await(t, "waiting")
	p.Signal(os.Interrupt)
	err := p.End()
	_, rest, _ := strings.Cut(p.Stderr().String(), "\n")
	if err != nil || !strings.HasPrefix(rest, "sdttrace: no probe has matched until now\nsdttrace: 0 events, ") {
		t.Errorf("%v, %q", err, rest)
	}
}
