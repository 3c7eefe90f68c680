package recording

import (
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestZombie looks for the recording of a process that has ended, but whose parent has not waited
// for it: it has no mappings, and may have had a flight recorder.
func TestZombie(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	if err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	if files, err := ofProcess(cmd.Process.Pid, ""); err == nil || !strings.Contains(err.Error(), "--from DIR/") {
		t.Errorf("%v, %v, want an error that names DIR", files, err)
	}
	if files, err := ofProcess(cmd.Process.Pid, t.TempDir()); err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("%v, %v, want an error that says that it has ended", files, err)
	}
}
