package abuse_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

func limitFiles(n int) error {
	limit := unix.Rlimit{Cur: uint64(n), Max: 1000}
	return unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
}

// TestNoDescriptors checks that Load without a spare descriptor returns an error
// that says so, and that loaded probes keep working.
func TestNoDescriptors(t *testing.T) {
	v := startVictim(t)
	v.Do("files 4")
	before := v.descriptors()
	if answer := v.Do("load 10"); !strings.Contains(answer, "too many open files") {
		t.Errorf("Load says %q", answer)
	}
	if after := v.descriptors(); after != before {
		t.Errorf("%d descriptors before and %d after a Load that failed", before, after)
	}
	v.checkTraced()
}

// descriptors counts the victim's descriptors, without the victim opening one.
func (p *process) descriptors() int {
	p.t.Helper()
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.PID()))
	if err != nil {
		p.t.Fatal(err)
	}
	return len(fds)
}

// checkTraced checks that the victim's probes can be traced.
func (p *process) checkTraced() {
	p.t.Helper()
	s := open(p.t, pidOptions(p))
	p.Do("fire 10")
	if st := finish(p.t, s); st.Fired != 20 {
		p.t.Errorf("fired %d, want 20", st.Fired)
	}
	p.checkClean()
}

// TestNoMemory checks the same for Load without address space.
func TestNoMemory(t *testing.T) {
	v := startVictim(t)
	v.Do("heap %d", 256<<20) // so that the heap need not grow when it cannot
	before := v.Do("held")
	v.Do("space %d", 1<<20)
	if answer := v.Do("load 20000"); !strings.Contains(answer, "cannot allocate memory") {
		t.Errorf("Load says %q", answer)
	}
	v.checkTraced()
	if after := v.Do("held"); after != before {
		t.Errorf("%s before and %s after a Load that failed", before, after)
	}
}

// TestMemfdNoexec loads probes where executable memory files are forbidden, or
// need a flag: the objects are mapped from files that are sealed against
// execution.
func TestMemfdNoexec(t *testing.T) {
	needs.Root(t)
	if _, err := os.Stat("/proc/sys/vm/memfd_noexec"); err != nil {
		needs.Skip(t, "this kernel has no vm.memfd_noexec: %v", err)
	}
	for _, scope := range []string{"1", "2"} {
		t.Run(scope, func(t *testing.T) {
			// The setting belongs to the PID namespace, and cannot be lowered.
			cmd := exec.Command("/bin/sh", "-c", "mount -t proc proc /proc && echo "+scope+
				" >/proc/sys/vm/memfd_noexec && exec "+victimPath)
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS,
				Unshareflags: syscall.CLONE_NEWNS}
			start(t, cmd).checkTraced()
		})
	}
}
