package attach_test

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
)

// TestGrowth holds that a session of the whole machine stays as large as it is
// while processes come and go that have a memory file each: they leave no sites,
// numbers, descriptors or memory behind. The numbers of their sites are given to
// others, whose events are told from theirs.
func TestGrowth(t *testing.T) {
	s := open(t, "growth:*", &attach.Options{Rescan: 2 * time.Millisecond, Await: true})
	pids := make(chan int, 16) // of events, in order
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ev, err := range s.Events() {
			if err != nil {
				t.Error(err)
			}
			if want := map[int]int{1: 1, 2: 2}[len(ev.Args)]; ev.Name == "done" && (want == 0 || int(ev.Args[0].Value.(uint64)) != want) {
				t.Errorf("event %+v", ev)
			}
			if ev.Name == "done" {
				pids <- ev.PID
			}
		}
	}()
	// Rescans are the rarer the longer they take, as on a busy machine.
	const patience = 4 * time.Minute
	known := 0
	turn := func(version string, fires int) {
		_, before := s.PlanSince(0)
		p := startChild(t, "growth")
		p.do("load %s", version)
		for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
			if _, known = s.PlanSince(0); known >= before+2 {
				break
			}
			if time.Now().After(end) {
				t.Fatal("a process is not traced")
			}
		}
		p.do("fire")
		for range fires {
			if pid := <-pids; pid != p.pid() {
				t.Errorf("an event of process %d, want %d", pid, p.pid())
			}
		}
		if err := p.end(); err != nil {
			t.Error(err)
		}
		p.out, p.cmd.Env = nil, nil // what the test keeps of it
		for end := time.Now().Add(patience); len(s.Plan()) > 4; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%d sites of processes that have ended are in the plan", len(s.Plan()))
			}
		}
	}
	size := func() (descriptors, heap int) {
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return len(fds), int(m.HeapAlloc)
	}
	for range 5 {
		turn("old", 1)
		turn("new", 2)
	}
	descriptors, heap := size()
	for range 20 {
		turn("old", 1)
		turn("new", 2)
	}
	after, larger := size()
	if after > descriptors+4 || larger > heap+100<<10 {
		t.Errorf("%d descriptors and %d bytes after %d sites, %d and %d before", after, larger, known, descriptors, heap)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	<-done
	checkSum(t, s)
}
