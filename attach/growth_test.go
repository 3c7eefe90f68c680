package attach_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// holding is what a tracing process holds.
type holding struct {
	links, programs, maps int // of BPF
	descriptors           int // these included
	heap                  int // in bytes
}

// held returns what this process holds. Nothing else may go on meanwhile.
func held(t testing.TB) (h holding) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	h.descriptors = len(fds)
	for _, fd := range fds {
		switch to, _ := os.Readlink("/proc/self/fd/" + fd.Name()); {
		case strings.HasPrefix(to, "anon_inode:bpf_link"):
			h.links++
		case to == "anon_inode:bpf-prog":
			h.programs++
		case to == "anon_inode:bpf-map":
			h.maps++
		}
	}
	// Objects with a finalizer or in a pool go with a second or third collection.
	for range 4 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if heap := int(m.HeapAlloc); h.heap == 0 || heap < h.heap {
			h.heap = heap
		}
	}
	return h
}

// heldAgain waits until this process holds no more descriptors than before, and returns what it
// holds. A session of the whole machine opens files of processes that start meanwhile.
func heldAgain(t testing.TB, before holding) holding {
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		now := held(t)
		if now.descriptors <= before.descriptors || time.Now().After(end) {
			return now
		}
	}
}

// TestGrowth checks that a session of the whole machine does not grow while
// processes come and go, each with a memory file: they leave no sites, numbers,
// descriptors, objects of BPF or memory behind. The numbers of their sites are
// given to other sites, and events of both are attributed correctly.
func TestGrowth(t *testing.T) {
	// A process that this one may not inspect could have the file of an ended
	// one.
	needs.Root(t)
	// The test calls Rescan itself, so that nothing goes on while it measures.
	s := open(t, "growth:*", &attach.Options{Rescan: time.Hour, Await: true})
	maps := held(t).maps
	const together = 6 // processes
	events := make(chan string, 3*together)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ev, err := range s.Events() {
			if err != nil {
				t.Error(err)
			}
			if ev.Name == "done" {
				events <- fmt.Sprint(ev.PID, " ", len(ev.Args), " ", ev.Args[0].Value)
			}
		}
	}()
	rescan := func() {
		if err := s.Rescan(); err != nil {
			t.Fatal(err)
		}
	}
	known := 0
	turn := func(t *testing.T) {
		want := map[string]int{}
		var all []*tracee.Program
		for i := range together {
			p := startChild(t, "growth")
			all = append(all, p)
			switch i % 3 {
			case 0:
				p.Do("load old")
				want[fmt.Sprint(p.PID(), " 1 1")] = 1
			case 1:
				p.Do("load new")
				want[fmt.Sprint(p.PID(), " 2 2")] = 2
			case 2:
				p.Do("load text")
				want[fmt.Sprint(p.PID(), " 2 3")] = 1
			}
		}
		rescan()
		if got := s.Plan().Attached(); got != 2*together {
			t.Fatalf("attached %d sites of %d processes, want 2 of each: %+v", got, together, s.Plan())
		}
		for _, p := range all {
			p.Do("fire")
		}
		for range together / 3 * (1 + 2 + 1) {
			want[<-events]--
		}
		for event, n := range want {
			if n != 0 {
				t.Errorf("%d events too few of PID, number and first of arguments %s", n, event)
			}
		}
		for _, p := range all {
			if err := p.End(); err != nil {
				t.Error(err)
			}
		}
		awaitLeft(t, s, rescan)
		known = found(t, s)
	}
	// A leak grows with every round; the runtime's threads and their memory do
	// not.
	const rounds, most = 5, 400 // bytes a site, which takes more than that
	t.Run("turn", turn)
	for round := 1; ; round++ {
		before, first := held(t), known
		for range 3 {
			t.Run("turn", turn) // nothing of its programs is kept after it
		}
		after := heldAgain(t, before)
		grown := after.heap - before.heap
		same := after
		same.heap = before.heap
		if same == before && same.maps == maps && grown <= most*(known-first) {
			break
		}
		t.Logf("%+v after %d sites, %+v after %d", before, first, after, known)
		if t.Failed() || round == rounds {
			t.Fatalf("it has grown in each of %d rounds", round)
		}
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	<-done
	checkSum(t, s)
}
