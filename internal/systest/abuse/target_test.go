package abuse_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/reader"
)

// TestTargetsKilled kills victims while they are being attached to, and every
// third after it has been traced for a moment.
func TestTargetsKilled(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for i := range 30 {
		v := startVictim(t)
		v.Do("spin 1")
		kill := func() {
			time.AfterFunc(time.Duration(random.IntN(30))*time.Millisecond, func() { v.Signal(os.Kill) })
		}
		traced := i%3 == 2
		if !traced {
			kill()
		}
		within(t, 2*time.Minute, "tracing a victim that is killed", func() {
			s, err := attach.Open(t.Context(), selectors, &attach.Options{Target: attach.Target{PIDs: []int{v.PID()}}})
			if err != nil {
				if traced || !errors.Is(err, attach.ErrNoMatch) && !errors.Is(err, attach.ErrNoSite) && !errors.Is(err, os.ErrNotExist) {
					t.Errorf("the error does not say that the process is gone: %v", err)
				}
				return
			}
			for ev, err := range s.Events() {
				if err != nil || ev.PID != v.PID() {
					t.Fatalf("event of process %d, %v", ev.PID, err)
				}
				if traced {
					traced = false
					kill()
				}
			}
			finish(t, s)
			if traced {
				t.Error("events end before the victim is killed")
			}
		})
		v.Kill()
	}
}

// TestTargetStopped attaches to a victim that is stopped, and detaches.
func TestTargetStopped(t *testing.T) {
	v := startVictim(t)
	signal := func(s syscall.Signal) { v.Signal(s) }
	for range 3 {
		signal(syscall.SIGSTOP)
		var s *attach.Session
		within(t, 2*time.Minute, "attaching to a stopped process", func() {
			s = open(t, &attach.Options{Target: attach.Target{PIDs: []int{v.PID()}}})
		})
		signal(syscall.SIGCONT)
		v.Do("fire 100")
		signal(syscall.SIGSTOP)
		within(t, 2*time.Minute, "detaching from a stopped process", func() {
			if st := finish(t, s); st.Fired != 200 {
				t.Errorf("fired %d, want 200", st.Fired)
			}
		})
		signal(syscall.SIGCONT)
		v.checkClean()
	}
}

// TestTargetExecutesAnew checks that the probes of a newly executed program are
// found, and that the sites of the old one do no harm.
func TestTargetExecutesAnew(t *testing.T) {
	v := startVictim(t)
	ctx, cancel := context.WithCancel(t.Context())
	s, err := attach.Open(ctx, selectors, &attach.Options{Target: attach.Target{PIDs: []int{v.PID()}}, Rescan: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	v.Do("fire 10")
	for range 3 {
		before, err := s.Stats()
		if err != nil {
			t.Fatal(err)
		}
		if answer := v.Do("exec"); answer != "ready" {
			t.Fatal(answer)
		}
		eventually(t, func() (wrong string) {
			v.probes(func(p *reader.Probe) {
				if n, err := p.SemaphoreValue(); err != nil || n != 1 {
					wrong = fmt.Sprintf("semaphore of %s:%s is %d (%v)", p.Provider, p.Name, n, err)
				}
			})
			return wrong
		})
		// The plan is brought up to date a moment after the semaphores.
		eventually(t, func() string {
			if now, err := s.Stats(); err != nil || now.Found <= before.Found {
				return fmt.Sprintf("%d sites had been found before and %d after the change of program (%v)", before.Found, now.Found, err)
			}
			return ""
		})
		v.Do("fire 10")
	}
	cancel()
	n := 0
	for ev, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if ev.PID != v.PID() {
			t.Errorf("event of process %d", ev.PID)
		}
		n++
	}
	if n != 4*10*len(selectors) {
		t.Errorf("%d events, want %d", n, 4*10*len(selectors))
	}
	finish(t, s)
	v.checkClean()
}

// TestTargetInNamespaces checks that the processes of a container have the PIDs
// of this namespace.
func TestTargetInNamespaces(t *testing.T) {
	needs.Root(t)
	cmd := exec.Command(victimPath)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	v := start(t, cmd)
	s := open(t, &attach.Options{Target: attach.Target{PIDs: []int{v.PID()}}})
	v.Do("fire 5")
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	n := 0
	for ev, err := range s.Events() {
		if err != nil || ev.PID != v.PID() {
			t.Errorf("event of process %d, want %d (%v)", ev.PID, v.PID(), err)
		}
		n++
	}
	if n != 10 {
		t.Errorf("%d events, want 10", n)
	}
	finish(t, s)
	v.checkClean()
}
