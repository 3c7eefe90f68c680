//go:build !usdt_nolocal

package provider_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/systest/live"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

func init() {
	roles["limited"] = firing
	roles["greedy"] = watchingMuch
}

// eaten is the memory that a service has taken.
var eaten [][]byte

// firing is the role of a service that records, if it is told where, and fires as often
// as each line of its input says. A line "eat" makes it take all memory.
func firing(args []string) error {
	o := &provider.Options{Local: true}
	if len(args) > 0 {
		o.FlightRecorder = &provider.FlightRecorder{Dir: args[0], Size: 1 << 20}
	}
	p := provider.New("limited", o)
	event := provider.NewProbe1[int](p, "event", "n")
	if err := p.Load(); err != nil {
		return err
	}
	return tracee.Obey(func(line string) error {
		if line == "eat" {
			for {
				eaten = append(eaten, bytes.Repeat([]byte{1}, 1<<20))
			}
		}
		n, err := strconv.Atoi(line)
		for i := range n {
			event.Fire(i)
		}
		return err
	})(nil)
}

// watchingMuch is the role of a tracer with a large ring. It says how many events it has
// received when its input ends.
func watchingMuch(args []string) error {
	pid, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	fmt.Scanln() // until it is in its cgroup
	tr, err := connect(context.Background(), pid, "limited", watching{size: 64 << 20})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	fmt.Scanln()
	if err := tr.Stop(); err != nil {
		return err
	}
	fmt.Println(tr.Ring.Counts().Recorded)
	return nil
}

// memoryGroup makes a cgroup with a limit of memory, and returns its directory.
func memoryGroup(t *testing.T, limit int) string {
	t.Helper()
	needs.Root(t)
	name := fmt.Sprintf("usdt-test-%d-%d", os.Getpid(), time.Now().UnixNano())
	var dir, file string
	if _, err := os.Stat("/sys/fs/cgroup/memory/memory.limit_in_bytes"); err == nil {
		dir, file = filepath.Join("/sys/fs/cgroup/memory", name), "memory.limit_in_bytes"
	} else {
		// The controller may have to be passed on to groups.
		os.WriteFile("/sys/fs/cgroup/cgroup.subtree_control", []byte("+memory"), 0)
		dir, file = filepath.Join("/sys/fs/cgroup", name), "memory.max"
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		needs.Skip(t, "no cgroups here: %v", err)
	}
	t.Cleanup(func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for range 60_000 { // until the kernel has forgotten its processes
			if os.Remove(dir) == nil {
				return
			}
			<-tick.C
		}
		t.Errorf("%s stays", dir)
	})
	if err := os.WriteFile(filepath.Join(dir, file), []byte(strconv.Itoa(limit)), 0); err != nil {
		needs.Skip(t, "no cgroups here: %v", err)
	}
	return dir
}

// enter puts a program into a cgroup.
func enter(t *testing.T, dir string, p *tracee.Program) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(p.PID())), 0); err != nil {
		t.Fatal(err)
	}
}

// TestLocalMemoryLimit traces a service that may have 32 MiB through a ring of 64 MiB,
// and fills it: the tracer pays. If the tracer may not have so much, it is the one that
// the kernel kills.
func TestLocalMemoryLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("short: fills 64 MiB page by page")
	}
	group := memoryGroup(t, 32<<20)
	service := tracee.Start(t, tracee.Self("limited"))
	enter(t, group, service)
	service.Do("0") // it offers its probes by then
	pid := strconv.Itoa(service.PID())
	rich := tracee.Start(t, tracee.Self("greedy", pid))
	if got := rich.Do(""); got != "ready" {
		t.Fatal(got)
	}
	events := 2_500_000 // of 24 bytes
	if raced {
		events = 300_000
	}
	service.Do("%d", events)
	if got, err := strconv.Atoi(rich.Do("")); err != nil || got < events/10 { // a goroutine fills the shards of the Ps that it runs on
		t.Errorf("%d of %d events are received, %v", got, events, err)
	}
	poor := tracee.StartVictim(t, tracee.Self("greedy", pid))
	enter(t, memoryGroup(t, 32<<20), poor)
	poor.Send("")
	err := poor.End()
	var status interface{ Sys() any }
	if !errors.As(err, &status) || status.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("a tracer that may not have as much memory ends with %v", err)
	}
	if got := service.Do("1"); got != "done" {
		t.Error(got)
	}
}

// TestRecorderOutOfMemory reads the recording of a service that the kernel has killed for
// its limit of memory.
func TestRecorderOutOfMemory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "recordings")
	service := tracee.StartVictim(t, tracee.Self("limited", dir))
	enter(t, memoryGroup(t, 32<<20), service)
	service.Do("1000")
	service.Send("eat")
	err := service.End()
	var status interface{ Sys() any }
	if !errors.As(err, &status) || status.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the service ends with %v", err)
	}
	checkOnce(t, recordings(t, dir), 1000)
}

// TestKilledTracerOutside looks at a service from outside: 100 ms after its tracer was
// killed, it has the mappings, the descriptors and the semaphore that it had before.
func TestKilledTracerOutside(t *testing.T) {
	if testing.Short() {
		t.Skip("short: what an emulated processor takes to clean up says nothing")
	}
	service := tracee.Start(t, tracee.Self("limited"))
	service.Do("1")
	state := func() string {
		fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", service.PID()))
		if err != nil {
			t.Fatal(err)
		}
		maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", service.PID()))
		if err != nil {
			t.Fatal(err)
		}
		probe := live.Probe(t, service.PID(), "limited:event")
		var counter [4]byte
		f, err := os.Open(fmt.Sprintf("/proc/%d/mem", service.PID()))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.ReadAt(counter[:], int64(probe.Live.SemaphoreAddress)); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%d descriptors, %d mappings of rings, semaphore %v", len(fds), strings.Count(string(maps), "memfd:usdt-events")+strings.Count(string(maps), "memfd:usdt-positions"), counter)
	}
	before, fastest := state(), time.Hour
	for begin := time.Now(); fastest > 100*time.Millisecond && time.Since(begin) < time.Minute; {
		tracer := tracee.StartVictim(t, tracee.Self("watcher", strconv.Itoa(service.PID()), "limited"))
		if got := tracer.Line(); got != "ready 1" {
			t.Fatal(got)
		}
		service.Do("1000")
		if during := state(); during == before {
			t.Fatalf("with a tracer there are %s, as without", during)
		}
		killed := time.Now()
		unix.Kill(tracer.PID(), unix.SIGKILL)
		for state() != before {
			if time.Since(killed) > time.Minute {
				t.Fatalf("there are %s, want %s", state(), before)
			}
		}
		fastest = min(fastest, time.Since(killed)) // the others may have waited for a CPU
	}
	if fastest > 100*time.Millisecond {
		t.Errorf("it took %v at least", fastest)
	}
	t.Logf("nothing is left after %v", fastest)
}
