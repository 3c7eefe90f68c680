package attach_test

import (
	"fmt"
	"io"
	"math"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/attach/collection"
	"github.com/go-usdt/usdt/internal/kernel"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/reader"
)

// BenchmarkManyProcesses measures the cost of an event in one of n traced
// processes: of a session, and of an empty program of a collection, compared with
// an empty program of the caller's own, which has a link per process. The three
// take turns.
func BenchmarkManyProcesses(b *testing.B) {
	path := compileC(b, "ticks", "gcc", "-O2")
	probes, err := reader.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer probes.Close()
	var tick []reader.Probe
	for p, err := range probes.Probes() {
		if err != nil {
			b.Fatal(err)
		}
		tick = append(tick, p)
	}
	programs, pids := tracee.StartMany(b, path, 300)
	own := nothing(b, ebpf.AttachTraceUprobeMulti)
	for _, n := range []int{1, 8, 9, 100, 300} {
		target := attach.Target{PIDs: pids[:n]}
		attachments := map[string]func() (io.Closer, error){
			"session": func() (io.Closer, error) {
				return attach.OpenAggregate(b.Context(), []string{"ticks:tick"}, attach.Count(), &attach.Options{Target: target})
			},
			"collection": func() (io.Closer, error) {
				c, err := collection.New(b.Context(), &ebpf.CollectionSpec{Programs: map[string]*ebpf.ProgramSpec{"nothing": {
					Type: ebpf.Kprobe, SectionName: "usdt/ticks:tick", AttachTo: "ticks:tick", License: "GPL",
					Instructions: kernel.EmptyProgram(),
				}}}, &collection.Options{Target: target})
				if err == nil {
					err = c.Attach(b.Context())
				}
				return c, err
			},
			"own": func() (io.Closer, error) {
				return attach.AttachProbes(own, tick, &attach.ProgramOptions{Target: target})
			},
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			const batch = 20_000
			best := map[string]time.Duration{}
			for b.Loop() {
				for name, open := range attachments {
					a, err := open()
					if err != nil {
						giveUp(b, err)
					}
					start := time.Now()
					programs[0].Do("%d", batch)
					took := time.Since(start)
					if best[name] == 0 {
						best[name] = math.MaxInt64
					}
					best[name] = min(best[name], took)
					if err := a.Close(); err != nil {
						b.Fatal(err)
					}
				}
			}
			for name, d := range best {
				b.ReportMetric(float64(d.Nanoseconds())/batch, name+"-ns/event")
				if name != "own" {
					b.ReportMetric(float64(d)/float64(best["own"]), name+"/own")
				}
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
