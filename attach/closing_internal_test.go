package attach

import (
	"errors"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach/internal/privilege"
	"github.com/go-usdt/usdt/attach/internal/process"
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
	if now := leftover.Descriptors(t); now > before {
		t.Errorf("%d descriptors, %d before", now, before)
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
