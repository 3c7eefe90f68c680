package attach

import (
	"os"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/clock"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/attach/internal/source"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/rendezvous"
	"github.com/go-usdt/usdt/internal/ring"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/reader"
)

// BenchmarkRings measures what it takes a tracer to read an event of three integers
// from shared memory, as a view and as an event: the mean, and how many it reads in a
// second on a CPU in the best of its turns.
func BenchmarkRings(b *testing.B) {
	const events = 20_000 // in the ring at a time
	w, err := ring.NewWriter(ring.Geometry{Shards: 1, Size: 4 << 20}, ring.ClockHere(), "bench")
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	var files [2]*os.File // as a tracer gets them
	for i, fd := range w.Files {
		dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			b.Fatal(err)
		}
		files[i] = os.NewFile(uintptr(dup), "ring")
		defer files[i].Close()
	}
	r, err := ring.NewReader(files[0], files[1], os.Getpid(), 16<<20, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	sig := &query.Signature{Layout: record.Layout{Block: 24}}
	sc := bind.NewSchema(sig)
	sc.Computed = sig
	for i, name := range []string{"a", "b", "c"} {
		sc.Fields = append(sc.Fields, shape.Field{Name: name, Source: shape.FromRecord, Kind: reader.Int, Size: 8, Offset: sig.BlockOffset() + 8*i})
	}
	process := &source.Process{Session: &rendezvous.Session{Ring: r}}
	process.Sites.Store(&[]source.Site{{Schema: sc, Tested: true}})
	source := source.NewRings(true, 0, ring.Now, func(err error) { b.Error(err) })
	if err := source.Add(process); err != nil {
		b.Fatal(err)
	}
	s := &Session{stream: stream{clock: clock.Fixed()}}
	s.attached, s.source = site.Unattached(nil), source
	s.sites.Store(s.sites.Load().With(site.Plan{{}}, []*bind.Schema{sc}, []int{0}, nil))
	fill := func() {
		for i := range uint64(events) {
			block := [4]uint64{1: i, 2: i, 3: i}
			rec := ring.Record{Block: unsafe.Pointer(&block[1]), Size: 24}
			rec.Site(0, 0, false)
			w.Write(&rec)
		}
	}
	// The time on CPUs counts, including that of the garbage collector: machines are busy.
	measure := func(name string, read func()) {
		b.Run(name, func(b *testing.B) {
			var least time.Duration
			for n := 0; b.Loop(); n++ {
				b.StopTimer()
				fill()
				before := onCPUs(b)
				b.StartTimer()
				read()
				b.StopTimer()
				if took := onCPUs(b) - before; n == 0 || took < least {
					least = took
				}
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/events, "ns/"+name)
			b.ReportMetric(events/least.Seconds()/1e6, "M"+name+"/CPU-s")
		})
	}
	sum := int64(0)
	measure("view", func() {
		n := 0
		for v := range s.Views() {
			sum += v.Arg(0).Int()
			if n++; n == events {
				break
			}
		}
	})
	measure("event", func() {
		n := 0
		for ev := range s.Events() {
			if n++; n == events || len(ev.Args) != 3 {
				break
			}
		}
	})
}

// onCPUs returns how long this process has been on CPUs.
func onCPUs(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
