package attach_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/live"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

func init() { roles["tracer"] = tracee.Obey(tracerChild()) }

func itoa(n int) string { return strconv.Itoa(n) }

// tracerChild attaches to the process that its command names, 0 for all.
func tracerChild() func(string) error {
	return func(command string) error {
		var pid, kind int
		var selector string
		if _, err := fmt.Sscan(command, &pid, &kind, &selector); err != nil {
			return err
		}
		// The session is left open: the process is going to be killed.
		o := &attach.Options{Link: attach.LinkKind(kind)}
		if pid != 0 {
			o.Target.PIDs = []int{pid}
		}
		_, err := attach.Open(context.Background(), []string{selector}, o)
		return err
	}
}

// TestTracerKilled checks that a killed tracer leaves nothing behind.
func TestTracerKilled(t *testing.T) {
	for _, kind := range []attach.LinkKind{attach.AutoLink, attach.PerfLink} {
		t.Run(kind.String(), func(t *testing.T) {
			path := compile(t, "gcc", "-O2", "-DSEMAPHORES")
			p := start(t, exec.Command(path))
			open(t, "args:bare", &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}}).Close() // or skip
			tracer := startChild(t, "tracer")
			tracer.Do("%d %d args:bare", p.PID(), kind)
			live.Check(t, p.PID(), "args:bare", 0xcc, 1)
			tracer.Kill() // the kernel detaches before the process is reaped
			live.Check(t, p.PID(), "args:bare", 0x90, 0)
			p.Do("")
		})
	}
}

// TestTwoTracers detaches two tracers of a site, by either mechanism, in either
// order. The one that stays gets every event, and in the end nothing is left.
func TestTwoTracers(t *testing.T) {
	path := compile(t, "gcc", "-O2", "-DSEMAPHORES")
	for _, kinds := range [][2]attach.LinkKind{
		{attach.AutoLink, attach.AutoLink}, {attach.AutoLink, attach.PerfLink}, {attach.PerfLink, attach.AutoLink},
	} {
		for first := range 2 {
			t.Run(fmt.Sprintf("%v-%v-%d", kinds[0], kinds[1], first), func(t *testing.T) {
				p := start(t, exec.Command(path))
				sessions := [2]*attach.Session{
					open(t, "args:bare", &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Link: kinds[0]}),
					open(t, path+":args:*", &attach.Options{Link: kinds[1]}),
				}
				events := [2]int{1, 7}
				live.Check(t, p.PID(), "args:bare", 0xcc, 1)
				close := func(s *attach.Session) {
					if err := errors.Join(s.Close(), s.Wait(t.Context())); err != nil {
						t.Error(err)
					}
				}
				close(sessions[first])
				live.Check(t, p.PID(), "args:bare", 0xcc, 1)
				p.Do("")
				if n := len(drain(t, sessions[1-first])); n != events[1-first] {
					t.Errorf("the tracer that stays got %d events, want %d", n, events[1-first])
				}
				close(sessions[1-first])
				live.Check(t, p.PID(), "args:bare", 0x90, 0)
			})
		}
	}
}

// TestOneOfTwoKilled kills one of two tracers of a site: the other gets every
// event, and the semaphore stays raised for it.
func TestOneOfTwoKilled(t *testing.T) {
	path := compile(t, "gcc", "-O2", "-DSEMAPHORES")
	for _, kind := range []attach.LinkKind{attach.AutoLink, attach.PerfLink} {
		t.Run(kind.String(), func(t *testing.T) {
			p := start(t, exec.Command(path))
			s := open(t, "args:bare", &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Link: kind})
			tracer := startChild(t, "tracer")
			tracer.Do("%d %d args:bare", p.PID(), kind)
			p.Do("")
			tracer.Kill()
			p.Do("")
			live.Check(t, p.PID(), "args:bare", 0xcc, 1)
			if n := len(drain(t, s)); n != 2 {
				t.Errorf("the tracer that stays got %d events, want 2", n)
			}
			if err := errors.Join(s.Close(), s.Wait(t.Context())); err != nil {
				t.Error(err)
			}
			live.Check(t, p.PID(), "args:bare", 0x90, 0)
		})
	}
}
