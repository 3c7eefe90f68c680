package providertest_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/provider/providertest"
)

// TestParallel checks that tests which record one provider at once see all events,
// each goroutine's in order, and by Own their own.
func TestParallel(t *testing.T) {
	p := provider.New("rectestparallel", nil)
	probe := provider.NewProbe2[int, int](p, "step", "goroutine", "n")
	const goroutines, steps = 8, 100
	recorders := make([]*providertest.Recorder, goroutines)
	t.Run("recorded", func(t *testing.T) {
		for i := range recorders {
			recorders[i] = providertest.Record(t, p)
		}
		var wait sync.WaitGroup
		for i, rec := range recorders {
			wait.Go(func() {
				for n := range steps {
					probe.Fire(i, n)
				}
				own := rec.Own("step")
				if len(own) != steps {
					t.Errorf("%d own events, want %d", len(own), steps)
				}
				for n, ev := range own {
					if ev.Args[0].Value != int64(i) || ev.Args[1].Value != int64(n) {
						t.Errorf("own event %d is %s", n, values(ev.Args))
					}
				}
			})
		}
		wait.Wait()
		for _, rec := range recorders {
			all, next := rec.Events("step"), map[any]int64{}
			for _, ev := range all {
				if ev.Args[1].Value != next[ev.Args[0].Value] {
					t.Errorf("event %s, want %d", values(ev.Args), next[ev.Args[0].Value])
				}
				next[ev.Args[0].Value]++
			}
			if len(all) != goroutines*steps {
				t.Errorf("%d events, want %d", len(all), goroutines*steps)
			}
		}
	})
	if probe.Enabled() {
		t.Error("enabled though nobody records any more")
	}
}

// TestStacks fires arguments that lie on stacks which grow meanwhile.
func TestStacks(t *testing.T) {
	type record struct {
		N     int
		Bytes []byte
		Text  string
		Made  provider.Text
	}
	p := provider.New("recteststacks", nil)
	bytes := provider.NewProbe3[int, []byte, string](p, "bytes", "n", "b", "s")
	fields := provider.NewStructProbe[record](p, "fields")
	rec := providertest.Record(t, p)
	var wait sync.WaitGroup
	const goroutines, depth = 4, 50
	for range goroutines {
		wait.Go(func() {
			deeper(bytes.Fire, func(n int, b []byte, s string) {
				fields.Fire(&record{n, b, s, provider.As(n, func(n int) string { return strings.Repeat("y", n) })})
			}, depth)
		})
	}
	wait.Wait()
	for _, name := range []string{"bytes", "fields"} {
		events := rec.Events(name)
		if len(events) != goroutines*(depth+1) {
			t.Errorf("%d events of %s, want %d", len(events), name, goroutines*(depth+1))
		}
		for _, ev := range events {
			n := int(ev.Args[0].Value.(int64))
			want := strings.Repeat(string(rune('a'+n%26)), 100+n)
			if got := string(ev.Args[1].Value.([]byte)); got != want {
				t.Errorf("%s %d: bytes %q", name, n, got)
			}
			if ev.Args[2].Value != want {
				t.Errorf("%s %d: string %q", name, n, ev.Args[2].Value)
			}
			if name == "fields" && ev.Args[3].Value != strings.Repeat("y", n) {
				t.Errorf("%s %d: text %q", name, n, ev.Args[3].Value)
			}
		}
	}
}

func deeper(fire, fields func(int, []byte, string), n int) byte {
	var room [1024]byte
	b := room[:100+n]
	for i := range b {
		b[i] = byte('a' + n%26)
	}
	fire(n, b, string(b))
	fields(n, b, string(b))
	if n == 0 {
		return room[0]
	}
	return deeper(fire, fields, n-1) + room[n]
}
