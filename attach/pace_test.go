package attach_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
)

// paced is what a thread of its own has read of a session.
type paced struct {
	at       chan time.Time // of each event, when it was read
	switches chan int       // how often the thread waited, at the end
	failed   chan error
}

// readPaced reads a session's events, which are to be numbered, on a thread of its own.
func readPaced(s *attach.Session, room int) *paced {
	p := &paced{make(chan time.Time, room), make(chan int, 1), make(chan error, 1)}
	go func() {
		runtime.LockOSThread()
		defer close(p.at)
		before, err := waits()
		n := uint64(0)
		for ev, evErr := range s.Events() {
			p.at <- time.Now()
			if err == nil && evErr == nil && ev.Args[0].Value != n {
				err = fmt.Errorf("got event %v, want %d", ev.Args[0].Value, n)
			}
			if n++; err == nil {
				err = evErr
			}
		}
		after, waitsErr := waits()
		if err == nil {
			err = waitsErr
		}
		p.switches <- after - before
		p.failed <- err
	}()
	return p
}

// waits returns how often this thread has waited for something.
func waits() (int, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/status", unix.Gettid()))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(status), "\nvoluntary_ctxt_switches:")
	line, _, _ := strings.Cut(rest, "\n")
	return strconv.Atoi(strings.TrimSpace(line))
}

// TestPacedStream fires events that follow each other closely, but not so closely that the
// reader finds several. It must not be woken up for each, and gets all of them in order,
// also events that fire just before it is stopped.
func TestPacedStream(t *testing.T) {
	probe := attach.LoadOwn(t, "pacedstream")
	for _, link := range []attach.LinkKind{attach.AutoLink, attach.PerfLink} {
		t.Run(link.String(), func(t *testing.T) {
			s := open(t, "pacedstream:fired", &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}, Link: link})
			const events, apart = 5_000, 20 * time.Microsecond
			p := readPaced(s, events)
			start := time.Now()
			for i := range events {
				for time.Since(start) < time.Duration(i)*apart {
				}
				probe.Fire(uint64(i))
			}
			took := time.Since(start)
			if err := s.Stop(); err != nil {
				t.Fatal(err)
			}
			switches, err := <-p.switches, <-p.failed
			if err != nil {
				t.Error(err)
			}
			if n := len(p.at); n != events {
				t.Errorf("%d of %d events arrived", n, events)
			}
			if st := checkSum(t, s); st.Received != events {
				t.Errorf("stats %+v, want %d events received", st, events)
			}
			// A pause is a wait or two, and so is finding nothing for half a millisecond.
			if most := 20 + int(4*took/time.Millisecond); switches > most {
				t.Errorf("the reader of %d events within %v waited %d times, want %d at most", events, took, switches, most)
			}
			t.Logf("the reader of %d events within %v waited %d times", events, took, switches)
		})
	}
}

// TestLoneEvent checks that an event that does not come soon after another is delivered at
// once.
func TestLoneEvent(t *testing.T) {
	if testing.Short() {
		t.Skip("short: on emulated machines an event takes as long as a pause")
	}
	probe := attach.LoadOwn(t, "loneevent")
	s := open(t, "loneevent:fired", &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}})
	p := readPaced(s, 1)
	const apart, prompt = 600 * time.Microsecond, 390 * time.Microsecond
	least := time.Hour
	// The first one follows none. While others have the CPUs, none arrives at once.
	end := time.Now().Add(30 * time.Second)
	for n := uint64(0); n < 2 || least > prompt && time.Now().Before(end); n++ {
		fired := time.Now()
		probe.Fire(n)
		read := <-p.at
		if n > 0 {
			least = min(least, read.Sub(fired))
		}
		for time.Since(read) < apart {
		}
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := <-p.switches, <-p.failed; err != nil {
		t.Error(err)
	}
	// With a pause of a millisecond after each event, every one would take 400 µs or more.
	if least > prompt {
		t.Errorf("an event that fires %v after another one arrives %v later, want %v at most", apart, least, prompt)
	}
	t.Logf("an event arrived %v after it had fired", least)
}

// TestEventsBehindLull fires a burst, and one event more at about the time when the reader
// no longer looks for itself: it must be woken up for that.
func TestEventsBehindLull(t *testing.T) {
	probe := attach.LoadOwn(t, "behindlull")
	s := open(t, "behindlull:fired", &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}})
	const rounds, events = 60, 50
	p := readPaced(s, rounds*(events+1))
	n := uint64(0)
	fire := func(count int) {
		t.Helper()
		for range count {
			probe.Fire(n)
			n++
		}
		for range count {
			select {
			case <-p.at:
			case <-time.After(time.Minute):
				t.Fatalf("an event has not arrived a minute after it fired, of %d", n)
			}
		}
	}
	for round := range rounds {
		fire(events)
		for start, wait := time.Now(), 8*time.Millisecond+time.Duration(round%20)*200*time.Microsecond; time.Since(start) < wait; {
		}
		fire(1)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := <-p.switches, <-p.failed; err != nil {
		t.Error(err)
	}
	if st := checkSum(t, s); st.Received != n {
		t.Errorf("stats %+v, want %d events received", st, n)
	}
}
