package providertest_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/provider/providertest"
)

// TestVersions uses a library, whose constructor declares, a hundred times in two versions,
// in parallel tests that run three times, while its provider is loaded and closed: no event
// is lost, and nothing is reported.
func TestVersions(t *testing.T) {
	first := func() func(int) {
		p := provider.NewProbe2[string, int](provider.New("rectestversions", nil), "get_done", "key", "size")
		return func(n int) { p.Fire("first", n) }
	}
	second := func() func(int) {
		p := provider.NewProbe3[string, int64, provider.Text](provider.New("rectestversions", nil), "get_done", "key", "size", "err")
		return func(n int) { p.Fire("second", int64(n), provider.Text{}) }
	}
	try := func(t *testing.T, err error) {
		t.Helper()
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			t.Error(err)
		}
	}
	for i := range 12 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			p := provider.New("rectestversions", nil)
			rec := providertest.Record(t, p)
			for n := range 100 {
				switch {
				case n%40 == 0:
					try(t, p.Load())
				case n%40 == 20 && i%4 == 0:
					try(t, p.Close())
				}
				old, now := first(), second()
				old(n)
				done := make(chan bool)
				go func() {
					now(n)
					close(done)
				}()
				<-done
			}
			own := rec.Own("get_done")
			if len(own) != 200 {
				t.Fatalf("%d own events, want 200", len(own))
			}
			for n, ev := range own {
				if want := []string{"first", "second"}[n%2]; ev.Args[0].Value != want || ev.Args[1].Value != int64(n/2) || len(ev.Args) != 2+n%2 {
					t.Fatalf("event %d: %s, want %s %d", n, values(ev.Args), want, n/2)
				}
			}
			try(t, p.Check())
		})
	}
	t.Cleanup(func() { try(t, provider.New("rectestversions", nil).Close()) })
}
