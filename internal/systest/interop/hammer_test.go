package interop_test

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/provider"
)

// TestHammer fires from six goroutines whose stacks grow and shrink, under a
// CPU profile of 1 kHz and forced collections, while links come and go. Each
// argument of an event follows from its first one: a torn or stale one shows.
func TestHammer(t *testing.T) {
	need(t)
	p := provider.New("hammer", nil)
	hit := provider.NewProbe5[uint64, string, []byte, int32, float64](p, "hit", "n", "text", "raw", "neg", "half")
	rec := provider.NewStructProbe[hammerRecord](p, "rec")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	defer p.Close()

	var profile bytes.Buffer
	// StartCPUProfile then complains on stderr, and keeps this rate.
	runtime.SetCPUProfileRate(1000)
	if err := pprof.StartCPUProfile(&profile); err != nil {
		t.Fatal(err)
	}
	defer pprof.StopCPUProfile()

	var stop atomic.Bool
	var wg sync.WaitGroup
	for g := range 6 {
		wg.Go(func() {
			for n := uint64(g); !stop.Load(); n += 6 {
				// A new goroutine's stack is small: the way down grows it.
				var one sync.WaitGroup
				one.Go(func() { fireDeep(hit, rec, n, int(n%150)) })
				one.Wait()
				if n%97 == 0 {
					runtime.Gosched()
				}
			}
		})
	}
	wg.Go(func() {
		for !stop.Load() {
			runtime.GC()
			time.Sleep(2 * time.Millisecond)
		}
	})

	total := 0
	for round := range 50 {
		total += attachOnce(t, round)
		if t.Failed() {
			break
		}
	}
	stop.Store(true)
	wg.Wait()
	if total == 0 {
		t.Error("not one event in 50 rounds")
	}
	t.Logf("%d events checked", total)

	pid := os.Getpid()
	for _, name := range []string{"hit", "rec"} {
		if v := semaphore(t, probe(t, pid, "hammer", name)); v != 0 {
			t.Errorf("semaphore of hammer:%s is %d after the last link, want 0", name, v)
		}
	}
}

type hammerRecord struct {
	N    uint64
	Text string
	Neg  int16
	Raw  []byte
}

// hammerText is the text that belongs to n, sometimes too long for the frame.
func hammerText(n uint64) string {
	return strings.Repeat(string(rune('a'+n%26)), int(n%300)) + fmt.Sprint(n)
}

func fireDeep(hit *provider.Probe5[uint64, string, []byte, int32, float64], rec *provider.StructProbe[hammerRecord], n uint64, depth int) int {
	var pad [256]byte // of stack, for each level
	pad[n%256] = byte(depth)
	if depth > 0 {
		return fireDeep(hit, rec, n, depth-1) + int(pad[0])
	}
	var raw [16]byte // also on the stack
	for i := range raw {
		raw[i] = byte(n) + byte(i)
	}
	text := hammerText(n)
	hit.Fire(n, text, raw[:n%17], -int32(n%1000), float64(n)/2)
	rec.Fire(&hammerRecord{N: n, Text: text, Neg: -int16(n % 1000), Raw: raw[:n%17]})
	return int(pad[1])
}

// attachOnce attaches, checks some events and detaches.
func attachOnce(t *testing.T, round int) int {
	s, err := attach.Open(t.Context(), []string{"hammer:*"}, &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	// If no goroutine runs, no event comes: the timer ends the round.
	timer := time.AfterFunc(10*time.Second, func() { s.Stop() })
	defer timer.Stop()
	n := 0
	for ev, err := range s.Events() {
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		checkHammer(t, &ev)
		if n++; n == 200 || t.Failed() {
			break
		}
	}
	if err := s.Close(); err != nil {
		t.Fatalf("round %d: %v", round, err)
	}
	stats, err := s.Stats()
	if err != nil {
		t.Fatal(err)
	}
	if stats.Fired != stats.Received+stats.Lost+stats.Filtered+stats.Missed+stats.Unread {
		t.Errorf("round %d: fired %d, received %d + lost %d + filtered %d + missed %d", round,
			stats.Fired, stats.Received, stats.Lost, stats.Filtered, stats.Missed)
	}
	return n
}

func checkHammer(t *testing.T, ev *event.Event) {
	t.Helper()
	got := map[string]any{}
	for _, a := range ev.Args {
		if a.Err != nil {
			t.Errorf("%s: argument %s: %v", ev.Name, a.Name, a.Err)
			return
		}
		got[strings.ToLower(a.Name)] = a.Value
	}
	n, ok := got["n"].(uint64)
	if !ok {
		t.Errorf("%s: no n in %v", ev.Name, got)
		return
	}
	raw := make([]byte, n%17)
	for i := range raw {
		raw[i] = byte(n) + byte(i)
	}
	if got["text"] != hammerText(n) || got["neg"] != -int64(n%1000) || !bytes.Equal(got["raw"].([]byte), raw) {
		t.Errorf("%s n=%d: got %v", ev.Name, n, got)
	}
	if ev.Name == "hit" && got["half"] != float64(n)/2 {
		t.Errorf("hit n=%d: half is %v", n, got["half"])
	}
}
