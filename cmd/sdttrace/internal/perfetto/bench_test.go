package perfetto

import (
	"io"
	"testing"
	"time"

	"github.com/go-usdt/usdt/event"
)

// BenchmarkWriter writes events, and pairs of them with a flow and a counter, beside the same
// events as lines of JSON.
func BenchmarkWriter(b *testing.B) {
	at := time.Now()
	start := &event.Event{PID: 1, TID: 2, Comm: "postgres", Provider: "postgresql", Name: "query__start", Args: []event.Arg{
		{Name: "query", Value: "SELECT abalance FROM pgbench_accounts WHERE aid = 4711;"}, {Name: "id", Value: uint64(5)}, {Name: "took", Value: 7 * time.Millisecond}}}
	end := &event.Event{PID: 1, TID: 2, Comm: "postgres", Provider: "postgresql", Name: "query__done", Args: start.Args}
	step := func(i int) {
		start.Time = at.Add(time.Duration(i) * time.Microsecond)
		end.Time = start.Time.Add(time.Microsecond)
	}
	perSecond := func(b *testing.B, events int) {
		b.ReportMetric(float64(b.N*events)/b.Elapsed().Seconds(), "events/s")
		b.ReportMetric(0, "ns/op")
	}
	b.Run("json", func(b *testing.B) {
		var line []byte
		for i := range b.N {
			step(i)
			line = start.AppendJSON(line[:0])
			io.Discard.Write(line)
		}
		perSecond(b, 1)
	})
	b.Run("instants", func(b *testing.B) {
		w := New(io.Discard, &Options{})
		b.ReportAllocs()
		for i := range b.N {
			step(i)
			w.Event(start)
		}
		perSecond(b, 1)
	})
	b.Run("slices", func(b *testing.B) {
		w := New(io.Discard, &Options{Flows: []string{"id"}, Counters: []string{"took"}})
		b.ReportAllocs()
		for i := range b.N {
			step(2 * i)
			w.Slice(start, end, false)
		}
		perSecond(b, 2)
	})
}
