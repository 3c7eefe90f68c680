package discover

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach/internal/process"
)

// TestNearestMapped names the file of a process that a name may mean, and of one that has ended an
// installed file.
func TestNearestMapped(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	ended := false
	end := func() {
		if !ended {
			ended = true
			cmd.Process.Kill()
			cmd.Wait()
		}
	}
	defer end()
	for !strings.Contains(mapsOf(pid), "libc.so.6") { // until its linker has mapped it
		time.Sleep(time.Millisecond)
	}
	for range 2 {
		d := New(parsed(t, "uprobe:libc:malloc"), &process.Set{PIDs: []int{pid}})
		if err := d.noMatch(0); !strings.Contains(err.Error(), "; the nearest is libc.so.6 (/") {
			t.Errorf("ended %t: %v", ended, err)
		}
		d = New(parsed(t, "uprobe:libsleepless:malloc"), &process.Set{PIDs: []int{pid}})
		if err := d.noMatch(0); strings.Contains(err.Error(), "nearest") {
			t.Errorf("ended %t: %v", ended, err)
		}
		end()
	}
}

func mapsOf(pid int) string {
	maps, _ := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid)) // none once it has ended
	return string(maps)
}
