package rendezvous_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/rendezvous"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestKilledTracer checks that nothing is left of a tracer 100 ms after it was killed.
func TestKilledTracer(t *testing.T) {
	s := own(t)
	fastest := time.Hour
	limit := 100 * time.Millisecond
	if testing.Short() {
		limit = 10 * time.Second // the processors of an emulated machine take turns
	}
	begin := time.Now()
	for round := 0; round < 20 || fastest > limit && time.Since(begin) < time.Minute; round++ {
		tracer := tracee.StartVictim(t, func() *exec.Cmd {
			cmd := tracee.Self("tracer")
			cmd.Args = append(cmd.Args, strconv.Itoa(os.Getpid()))
			return cmd
		}())
		if got := tracer.Line(); got != "watching" {
			t.Fatal(got)
		}
		s.fire(1, 2, 3)
		killed := time.Now()
		syscall.Kill(tracer.PID(), syscall.SIGKILL)
		<-s.ended
		until(t, "its ring goes", func() bool { return rings(t) == 0 })
		fastest = min(fastest, time.Since(killed)) // the others may have waited for a CPU
		s.fire(1, 2, 3)
	}
	if fastest > limit {
		t.Errorf("it took %v at least", fastest)
	}
}

// TestGone checks processes that are not there.
func TestGone(t *testing.T) {
	if _, err := rendezvous.Connect(t.Context(), 1<<22+1, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no process: %v", err)
	}
	service := tracee.StartVictim(t, tracee.Self("service"))
	service.Line()
	c, err := rendezvous.Connect(t.Context(), service.PID(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	syscall.Kill(service.PID(), syscall.SIGKILL)
	<-c.Gone
	if _, err := c.Watch([]rendezvous.Site{{Layout: &record.Layout{}}}); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("watch: %v", err)
	}
	if err := c.Stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
}

// TestConcurrent lets tracers come and go at once, under fire.
func TestConcurrent(t *testing.T) {
	s := own(t)
	var all sync.WaitGroup
	var begun atomic.Int64 // sessions
	rounds, tracers := 20, 8
	if testing.Short() {
		rounds, tracers = 4, 3
	}
	for range tracers {
		all.Add(1)
		go func() {
			defer all.Done()
			for range rounds {
				c, err := rendezvous.Connect(t.Context(), os.Getpid(), &rendezvous.Options{Size: 1})
				if err != nil {
					t.Error(err)
					return
				}
				begun.Add(1)
				refused, err := c.Watch([]rendezvous.Site{{Location: 0x1000, Number: 1, Layout: &record.Layout{Block: 24}}})
				if err != nil || refused[0] != nil {
					t.Error(refused, err)
				}
				s.fire(1, 2, 3)
				if err := c.Stop(); err != nil {
					t.Error(err)
				}
				if n := c.Ring.Counts(); n.Recorded == 0 {
					t.Errorf("counts %+v", n)
				}
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	all.Wait()
	for range begun.Load() {
		<-s.ended
	}
}

// until waits until a condition holds.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// rings returns the number of files and mappings of rings that this process has.
func rings(t testing.TB) int {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	n := strings.Count(string(maps), "/memfd:usdt-events") + strings.Count(string(maps), "/memfd:usdt-positions")
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		if to, _ := os.Readlink(link); strings.HasPrefix(to, "/memfd:usdt-events") || strings.HasPrefix(to, "/memfd:usdt-positions") {
			n++
		}
	}
	return n
}
