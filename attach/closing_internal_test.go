package attach

import (
	"errors"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach/internal/process"
	"github.com/go-usdt/usdt/internal/privilege"
	"github.com/go-usdt/usdt/internal/systest/leftover"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestHoldFails checks that the ID of a thread is not accepted as a process's.
func TestHoldFails(t *testing.T) {
	before := leftover.Descriptors(t)
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	thread := 0 // any but the first
	for _, task := range tasks {
		if id, err := strconv.Atoi(task.Name()); err == nil && id != os.Getpid() {
			thread = id
		}
	}
	for _, pid := range []int{thread, 1 << 30} {
		if procs, err := process.Hold([]int{os.Getpid(), pid}); err == nil {
			procs.Close()
			t.Errorf("%d is held, which is no process", pid)
		}
	}
	leftover.Back(t, before)
}

// TestCloseUnlocked checks that Close does not hold the lock that those may need for whom it waits.
func TestCloseUnlocked(t *testing.T) {
	LoadOwn(t, "closeunlocked")
	a, err := OpenAggregate(t.Context(), []string{"closeunlocked:fired"}, Count().By("stack"), &Options{Target: Target{PIDs: []int{os.Getpid()}}})
	if missing := (*privilege.Error)(nil); errors.As(err, &missing) {
		needs.Skip(t, "%v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	free := make(chan bool, 1)
	a.code.Aside(func() {
		for !a.code.Closed() {
			time.Sleep(time.Millisecond)
		}
		for range 100 { // others have the lock for moments
			if a.mu.TryLock() {
				a.mu.Unlock()
				free <- true
				return
			}
			time.Sleep(time.Millisecond)
		}
		free <- false
	})
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if !<-free {
		t.Error("Close holds the lock while it waits")
	}
	if err := a.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

// TestCloseUnanswered checks that Close does not wait for a Rescan whose look at processes waits for
// one whose files are being opened, which may take for ever.
func TestCloseUnanswered(t *testing.T) {
	t.Setenv("USDT_LOCAL", "1")
	LoadOwn(t, "closeunanswered")
	s, err := Open(t.Context(), []string{"closeunanswered:fired"}, &Options{Stack: 1, Rescan: time.Hour, Target: Target{PIDs: []int{os.Getpid()}, Via: ViaLocal}})
	if err != nil {
		t.Fatal(err)
	}
	refreshes, release := s.code.Hold() // as one whose files are being opened does
	defer release()
	rescanned, closed := make(chan error, 1), make(chan error, 1)
	go func() { rescanned <- s.Rescan() }()
	for !refreshes() {
		time.Sleep(time.Millisecond)
	}
	go func() { closed <- s.Close() }()
	for _, end := range []chan error{rescanned, closed} {
		select {
		case err := <-end:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Fatal("Rescan or Close waits for what does not come")
		}
	}
}

// TestAggregateFails checks that Close of an aggregate returns an earlier error.
func TestAggregateFails(t *testing.T) {
	a, err := OpenAggregate(t.Context(), []string{"/proc/self/exe:no:probe"}, Count(), &Options{Await: true, Rescan: time.Hour})
	if missing := (*privilege.Error)(nil); errors.As(err, &missing) {
		needs.Skip(t, "%v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	want := errors.New("late")
	a.fail(want)
	if err := a.Close(); !errors.Is(err, want) {
		t.Errorf("Close returns %v, want %v", err, want)
	}
	if err := a.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}
