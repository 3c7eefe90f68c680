package procfs_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/procfs"
)

// TestEnded looks at a process that has ended and that nobody has waited for.
func TestEnded(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	pid := cmd.Process.Pid
	if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("process %d has ended, and its parent, process %d, has not waited for it", pid, os.Getpid())
	if got := procfs.Empty(pid).Error(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := procfs.Empty(2).Error(), "process 2 has no memory: it is a kernel thread or has ended"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
