package process

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// hold holds processes until the end of the test.
func hold(t *testing.T, pids ...int) *Set {
	t.Helper()
	set, err := Hold(pids)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(set.Close)
	return set
}

// TestWait checks that Wait waits for the end of a process, or of its context, and can
// be called again after the latter.
func TestWait(t *testing.T) {
	p := tracee.StartVictim(t, exec.Command("cat"))
	set := hold(t, p.PID())
	for range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		waited := make(chan error)
		go func() { waited <- set.Wait(ctx, p.PID()) }()
		select {
		case err := <-waited:
			t.Errorf("waiting for a running process ends with %v", err)
			cancel()
			continue
		case <-time.After(10 * time.Millisecond):
		}
		cancel()
		if err := <-waited; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want that of the context", err)
		}
	}
	if set.Ended(p.PID()) {
		t.Error("a running process has ended")
	}
	if err := p.End(); err != nil {
		t.Fatal(err)
	}
	if err := set.Wait(t.Context(), p.PID()); err != nil {
		t.Error(err)
	}
	if !set.Ended(p.PID()) {
		t.Error("a process that has ended has not")
	}
}

// TestHoldMissing checks that processes are held all or none; that nothing stays open,
// TestMain checks.
func TestHoldMissing(t *testing.T) {
	const beyond = 1<<22 + 1 // PID_MAX_LIMIT, include/linux/threads.h
	set, err := Hold([]int{os.Getpid(), beyond})
	if !errors.Is(err, os.ErrNotExist) || set != nil {
		t.Errorf("got %v, error %v, want one that wraps os.ErrNotExist", set, err)
	}
}

// TestLeaderGone checks that a process is told from one whose first thread has ended.
func TestLeaderGone(t *testing.T) {
	p := tracee.StartVictim(t, tracee.Self("headless"))
	set := hold(t, p.PID())
	if set.LeaderGone(p.PID()) || set.WatchLeader(p.PID()) {
		t.Error("a first thread is watched that nobody asked to watch")
	}
	set.WatchLeaders()
	if !set.WatchLeader(p.PID()) {
		needs.Skip(t, "this process may not open perf events")
	}
	if set.LeaderGone(p.PID()) {
		t.Error("the first thread is gone from the beginning")
	}
	p.Do("end the first thread")
	for deadline := time.Now().Add(time.Minute); !set.LeaderGone(p.PID()); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the first thread has ended, and is not gone")
		}
	}
	if set.Ended(p.PID()) {
		t.Error("the process has ended with its first thread")
	}
	if set.WatchLeader(p.PID()) || !set.LeaderGone(p.PID()) {
		t.Error("there is a first thread again")
	}
}
