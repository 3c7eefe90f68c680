package attach_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/reader"
)

var growthProcesses = flag.Int("growth", 0, "processes that come and go in TestCrowd (default 50) and TestLocalGrowth (default 25, and fewer if short)")

// crowdObject writes the object of a provider to a file, and returns its path and
// the offset of the probe's function.
func crowdObject(t *testing.T, name string) (path string, offset uint64) {
	p := provider.New(name, nil)
	provider.NewProbe1[uint64](p, "hit", "pid")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	own, err := reader.OpenProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	path = filepath.Join(t.TempDir(), "crowd.so")
	for probe, err := range own.Probes() {
		if err != nil || probe.Provider != name {
			continue
		}
		object, err := os.ReadFile(probe.Attachable())
		if err == nil {
			err = os.WriteFile(path, object, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return path, probe.Offset
	}
	t.Fatal("the object of this process has not been found")
	return "", 0
}

// resident returns the resident memory of this process that belongs to no file,
// in KiB.
func resident(t *testing.T) (kib int) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "RssAnon:")
	if _, err := fmt.Sscan(after, &kib); err != nil {
		t.Fatal(err)
	}
	return kib
}

// TestCrowd starts many processes, each with a memory file, that fire and end
// while one session traces the whole machine, and checks that each event arrives
// and that nothing grows. With -growth=100000 by hand, it logs what this process
// holds after a hundredth, a tenth, half and all of them.
func TestCrowd(t *testing.T) {
	needs.Root(t) // as TestGrowth
	all := *growthProcesses
	if all == 0 {
		all = 50
		if testing.Short() {
			all = 20
		}
	}
	name := fmt.Sprint("crowd", os.Getpid()) // another run may go on
	object, offset := crowdObject(t, name)
	p := start(t, exec.Command(compileC(t, "crowd", "gcc", "-O2"), object, fmt.Sprint(offset)))
	s := open(t, name+":hit", &attach.Options{Rescan: time.Hour, Await: true})
	together := min(500, all/10)
	all -= all % together
	pids := make(chan int, together)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ev, err := range s.Events() {
			if err != nil {
				t.Error(err)
				continue
			}
			if ev.Args[0].Value != uint64(ev.PID) {
				t.Errorf("event %+v of process %d", ev, ev.PID)
			}
			pids <- ev.PID
		}
	}()
	rescan := func() time.Duration {
		begin := time.Now()
		if err := s.Rescan(); err != nil {
			t.Fatal(err)
		}
		return time.Since(begin)
	}
	const most = 256 << 10 // bytes that the heap may grow by, for the runtime's threads and others' programs
	begin := time.Now()
	var attaching, leaving time.Duration
	var first holding
	checkpoints := []int{max(together, all/100), all / 10, all / 2, all}
	for n := together; n <= all; n += together {
		p.Do("%d", together)
		attaching += rescan()
		if got := s.Plan().Attached(); got != together {
			t.Fatalf("attached to %d processes, want %d: %v", got, together, s.Plan()[0].Reason)
		}
		p.Do("fire")
		fired := map[int]bool{}
		for range together {
			fired[<-pids] = true
		}
		if len(fired) != together {
			t.Errorf("events of %d processes, want %d", len(fired), together)
		}
		p.Do("end")
		awaitLeft(t, s, func() { leaving += rescan() })
		if n < checkpoints[0] {
			continue
		}
		checkpoints = checkpoints[1:]
		idle := time.Duration(0)
		for range 10 {
			idle += rescan() / 10
		}
		now := held(t)
		if first == (holding{}) {
			first = now
		} else {
			now = heldAgain(t, first)
			// Other programs on the machine come and go as well, and are kept while they run: compilers for minutes.
			for end := time.Now().Add(5 * time.Minute); now.heap-first.heap > most && time.Now().Before(end); now = heldAgain(t, first) {
				rescan()
			}
		}
		t.Logf("%6d processes, %v: %+v, %d KiB resident; a rescan takes %v, %v to attach to %d, %v to leave them",
			n, time.Since(begin).Round(time.Second), now, resident(t), idle.Round(time.Microsecond), (attaching / time.Duration(n/together)).Round(time.Millisecond), together, (leaving / time.Duration(n/together)).Round(time.Millisecond))
		grown := now.heap - first.heap
		now.heap = first.heap
		// The kernel may still be closing perf events of tests before this one: there are fewer then.
		first.links, first.descriptors = min(first.links, now.links), min(first.descriptors, now.descriptors)
		if now != first || grown > most {
			t.Errorf("%d processes: %+v and %d bytes more, %+v before", n, now, grown, first)
		}
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	select {
	case <-done:
	case <-pids:
		t.Error("an event that nobody waits for")
	}
	if st := checkSum(t, s); st.Fired != st.Received || st.Fired != uint64(all) {
		t.Errorf("%+v, want %d events", st, all)
	}
	if err := p.End(); err != nil && !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
}
