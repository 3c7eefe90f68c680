package attach_test

import (
	"os"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/provider"
)

// TestHeldWhileClosing checks that a reader keeps the event that it has in hand while the
// session is closed, or another reader goes on.
func TestHeldWhileClosing(t *testing.T) { sharedToo(t, checkHeldWhileClosing) }

func checkHeldWhileClosing(t *testing.T) {
	p := provider.New("heldevent", nil)
	t.Cleanup(func() { p.Close() })
	probe := provider.NewProbe2[int, string](p, "done", "n", "s")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	s := open(t, "heldevent:done", &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}})
	const events = 1000
	for n := range events {
		probe.Fire(n, "text")
	}
	check := func(v *event.View, want int64) {
		t.Helper()
		if ev, err := v.Event(); err != nil || ev.Args[0].Value != want || ev.Args[1].Value != "text" {
			t.Errorf("event %+v, %v, want %d", ev, err, want)
		}
	}
	n := int64(0)
	for v, err := range s.Views() {
		if err != nil {
			t.Fatal(err)
		}
		check(v, n)
		others := 0
		for w, err := range s.Views() {
			if err != nil {
				t.Fatal(err)
			}
			if n++; others == 0 || others == events/2 {
				check(w, n)
			}
			if others++; others > events/2 {
				break
			}
		}
		check(v, 0)
		closed := make(chan error)
		go func() { closed <- s.Close() }()
		if err := <-closed; err != nil {
			t.Error(err)
		}
		check(v, 0)
	}
	if st := checkSum(t, s); st.Fired != events || st.Received != uint64(n)+1 || st.Unread != events-st.Received {
		t.Errorf("stats %+v, want %d received", st, n+1)
	}
}
