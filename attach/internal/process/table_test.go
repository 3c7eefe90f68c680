package process

import (
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestTable checks that the table has the processes that run, with the time at which
// each was started, and none that has ended.
func TestTable(t *testing.T) {
	var before, after unix.Timespec
	unix.ClockGettime(unix.CLOCK_BOOTTIME, &before)
	p := tracee.StartVictim(t, exec.Command("cat"))
	unix.ClockGettime(unix.CLOCK_BOOTTIME, &after)
	ended := tracee.StartVictim(t, exec.Command("cat"))
	set := hold(t, p.PID(), ended.PID())
	if err := ended.End(); err != nil {
		t.Fatal(err)
	}
	table, err := NewTable(set, len(set.PIDs))
	if errors.Is(err, os.ErrPermission) {
		needs.Skip(t, "%v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	var life lifetime
	if err := table.Lookup(uint32(p.PID()), &life); err != nil {
		t.Fatal(err)
	}
	own, err := os.Readlink("/proc/self/ns/time")
	switch {
	case err == nil && own != InitialTimeNamespace:
		if life.Start != 0 || life.Within != 1<<64-1 {
			t.Errorf("lifetime %+v, want one that fits any process", life)
		}
	case life.Start+life.Within <= uint64(before.Nano()) || life.Start > uint64(after.Nano()):
		t.Errorf("started at %v within %v, want between %v and %v", time.Duration(life.Start), time.Duration(life.Within), time.Duration(before.Nano()), time.Duration(after.Nano()))
	}
	if err := table.Lookup(uint32(ended.PID()), &life); !errors.Is(err, ebpf.ErrKeyNotExist) {
		t.Errorf("a process that has ended: lifetime %+v, error %v", life, err)
	}

	var one only
	for _, tt := range []struct {
		pid  int
		want uint64
	}{{p.PID(), uint64(p.PID())}, {ended.PID(), nobody}} {
		array, err := NewOnly(&Set{PIDs: []int{tt.pid}, held: set.held})
		if err != nil {
			t.Fatal(err)
		}
		defer array.Close()
		if err := array.Lookup(uint32(0), &one); err != nil || one.PID != tt.want {
			t.Errorf("the only process is %d: %+v, %v", tt.pid, one, err)
		}
		if err := LeaveOnly(array); err != nil {
			t.Fatal(err)
		}
		if err := array.Lookup(uint32(0), &one); err != nil || one.PID != nobody {
			t.Errorf("the process has been left: %+v, %v", one, err)
		}
	}
}
