//go:build !usdt_nolocal

package provider_test

import (
	"os"
	"testing"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/provider"
)

// TestStackNoAllocs checks that a local tracer that asks for stacks gets them, and that
// they cost the service no memory.
func TestStackNoAllocs(t *testing.T) {
	p := provider.New("stackallocs", &provider.Options{Local: true})
	t.Cleanup(func() { p.Close() })
	words := provider.NewProbe2[int, uint64](p, "a_words", "a", "b")
	small := provider.NewProbe2[uint8, bool](p, "b_small", "a", "b")
	text := provider.NewProbe2[string, []byte](p, "c_text", "s", "b")
	none := provider.NewProbe0(p, "d_none")
	load(t, p)
	b := []byte("bytes")
	fire := func() {
		words.Fire(1, 2)
		small.Fire(3, true)
		text.Fire("text", b)
		none.Fire()
	}
	for _, most := range []int{0, 5, 100} {
		tr := attachTo(t, os.Getpid(), p.Name(), watching{size: 8 << 20, stack: most})
		const runs = 100
		if n := testing.AllocsPerRun(runs, fire); n != 0 && !raced { // which lets sync.Pool forget
			t.Errorf("%d addresses: %v allocations, want 0", most, n)
		}
		events := tr.all(t)
		if want := 4 * (runs + 1); len(events) != want {
			t.Errorf("%d addresses: %d events, want %d", most, len(events), want)
		}
		for _, ev := range events {
			checkStack(t, &ev, most)
		}
	}
}

// checkStack checks that an event has a stack of at most so many addresses.
func checkStack(t *testing.T, ev *event.Event, most int) {
	t.Helper()
	switch s := ev.Stack; {
	case most == 0 && s == nil:
	case most == 0 || s == nil:
		t.Errorf("%s: stack %v, asked for %d addresses", ev.Name, s, most)
	case (s.Err != nil) != (len(s.PCs) == most) || len(s.PCs) == 0 || len(s.PCs) > most:
		t.Errorf("%s: %d addresses, %v, asked for %d", ev.Name, len(s.PCs), s.Err, most)
	}
}
