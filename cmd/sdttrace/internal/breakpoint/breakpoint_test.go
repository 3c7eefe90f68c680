package breakpoint

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestHeadless checks what is said of a process whose first thread has ended: it stands still as others do,
// and has not ended.
func TestHeadless(t *testing.T) {
	path := needs.Compile(t, "../../../../attach/testdata/headless.c", "gcc", "-O1", "-pthread")
	p := tracee.Start(t, exec.Command(path))
	await := func(what string, holds func() bool) {
		t.Helper()
		for end := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal(what)
			}
		}
	}
	p.Do("0")
	await("the first thread has not ended", func() bool {
		maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", p.PID()))
		return err == nil && len(maps) == 0
	})
	if standsStill(p.PID()) {
		t.Error("it is taken for stopped")
	}
	if got := dispositionOf(p.PID(), syscall.SIGWINCH); got != ignored {
		t.Errorf("SIGWINCH has disposition %d, want %d", got, ignored)
	}
	if err := syscall.Kill(p.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	await("it is not taken for stopped", func() bool { return standsStill(p.PID()) })
	if err := syscall.Kill(p.PID(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	p.Do("1")
	p.End()
	if got := dispositionOf(p.PID(), syscall.SIGWINCH); got != gone {
		t.Errorf("at the end SIGWINCH has disposition %d, want %d", got, gone)
	}
}
