//go:build !usdt_nolocal

package provider_test

import (
	"os"
	"sync"
	"testing"

	"github.com/go-usdt/usdt/internal/rendezvous"
	"github.com/go-usdt/usdt/provider"
)

// BenchmarkLocal measures Fire with a local tracer that reads nothing in time: the ring
// is emptied while the benchmark is not timed.
func BenchmarkLocal(b *testing.B) {
	p := offered(b)
	ints := provider.NewProbe3[uint64, uint64, uint64](p, "ints", "a", "b", "c")
	text := provider.NewProbe3[uint64, string, uint64](p, "text", "a", "b", "c")
	load(b, p)
	const s = "sixteen bytes ok"
	const batch = 10_000
	run := func(name string, how watching, fire func(i uint64)) {
		b.Run(name, func(b *testing.B) {
			if how.size == 0 {
				how.size = 16 << 20
			}
			tr := attachTo(b, os.Getpid(), p.Name(), how)
			b.ResetTimer()
			for i := 0; i < b.N; i += batch {
				for j := range min(batch, b.N-i) {
					fire(uint64(j))
				}
				b.StopTimer()
				tr.Ring.Poll(false)
				for {
					if _, ok, _ := tr.Ring.Next(nil); !ok {
						break
					}
				}
				b.StartTimer()
			}
			b.StopTimer()
			if n := tr.Ring.Counts(); n.Lost() > 0 {
				b.Errorf("lost %+v", n)
			}
			tr.Close()
		})
	}
	run("ints", watching{probe: "ints"}, func(i uint64) { ints.Fire(i, i, i) })
	run("text", watching{probe: "text"}, func(i uint64) { text.Fire(i, s, i) })
	run("rejected", watching{probe: "ints", where: []rendezvous.Term{{Size: 8, Op: rendezvous.Greater, Value: 1 << 40}}}, func(i uint64) { ints.Fire(i, i, i) })
	run("sampled", watching{probe: "ints", sample: 1000}, func(i uint64) { ints.Fire(i, i, i) })
	b.Run("full", func(b *testing.B) {
		tr := attachTo(b, os.Getpid(), p.Name(), watching{probe: "ints"})
		for range 1_000_000 {
			ints.Fire(1, 2, 3)
		}
		b.ResetTimer()
		for i := range b.N {
			ints.Fire(uint64(i), 2, 3)
		}
		b.StopTimer()
		tr.Close()
	})
	b.Run("unwatched", func(b *testing.B) {
		for i := range b.N {
			ints.Fire(uint64(i), 2, 3)
		}
	})
	b.Run("two", func(b *testing.B) {
		tr := attachTo(b, os.Getpid(), p.Name(), watching{probe: "ints", size: 64 << 20})
		b.ResetTimer()
		for i := 0; i < b.N; i += batch {
			var both sync.WaitGroup
			for range 2 {
				both.Add(1)
				go func() {
					defer both.Done()
					for j := range min(batch, b.N-i) {
						ints.Fire(uint64(j), 2, 3)
					}
				}()
			}
			both.Wait()
			b.StopTimer()
			tr.Ring.Poll(false)
			for {
				if _, ok, _ := tr.Ring.Next(nil); !ok {
					break
				}
			}
			b.StartTimer()
		}
		b.StopTimer()
		b.Logf("%+v", tr.Ring.Counts())
		tr.Close()
	})
}
