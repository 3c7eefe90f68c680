package attach_test

import (
	"fmt"
	"os/exec"
	"strconv"
	"testing"

	"github.com/go-usdt/usdt/attach"
)

func init() { children["tracer"] = tracerChild() }

func itoa(n int) string { return strconv.Itoa(n) }

// tracerChild attaches to the process that its command names.
func tracerChild() func(string) error {
	return func(command string) error {
		var pid, kind int
		var selector string
		if _, err := fmt.Sscan(command, &pid, &kind, &selector); err != nil {
			return err
		}
		// The session is left open: the process is going to be killed.
		_, err := attach.Open(selector, &attach.Options{PIDs: []int{pid}, Link: attach.LinkKind(kind)})
		return err
	}
}

// TestTracerKilled holds that nothing stays behind of a tracer that is killed.
func TestTracerKilled(t *testing.T) {
	for _, kind := range []attach.LinkKind{attach.AutoLink, attach.PerfLink} {
		t.Run(kind.String(), func(t *testing.T) {
			path := compile(t, "gcc", "-O2", "-DSEMAPHORES")
			p := start(t, exec.Command(path))
			open(t, "args:bare", &attach.Options{PIDs: []int{p.pid()}}).Close() // or skip
			tracer := startChild(t, "tracer")
			tracer.do("%d %d args:bare", p.pid(), kind)
			checkLive(t, p.pid(), "args:bare", 0xcc, 1)
			if err := tracer.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			tracer.end() // the kernel detaches before the process is reaped
			checkLive(t, p.pid(), "args:bare", 0x90, 0)
			p.do("")
		})
	}
}

// TestTwoTracers detaches in the order of attaching, which leaves the site to
// the second.
func TestTwoTracers(t *testing.T) {
	path := compile(t, "gcc", "-O2", "-DSEMAPHORES")
	p := start(t, exec.Command(path))
	a := open(t, "args:bare", &attach.Options{PIDs: []int{p.pid()}})
	b := open(t, path+":args:*", nil)
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	p.do("")
	if n := len(drain(t, b)); n != 7 {
		t.Errorf("the second tracer got %d events, want 7", n)
	}
	checkLive(t, p.pid(), "args:bare", 0x90, 0)
}
