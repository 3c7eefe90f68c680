package attach_test

import (
	"math"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/attach/collection"
	"github.com/go-usdt/usdt/internal/systest/bpf"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// BenchmarkTaskStack measures the cost of an event for a program with 200 bytes
// of stack: on the task's stack, where a tail call that is never made keeps it,
// compared with a private stack. Both programs are loaded at once and take turns
// to be attached.
func BenchmarkTaskStack(b *testing.B) {
	bpf.NeedPrivateStacks(b, "testdata/stack.bpf.c")
	object := needs.CompileBPF(b, "testdata/stack.bpf.c")
	p := startChild(b, "fire")
	p.Do("load")
	collections := map[string]*collection.Collection{}
	for name, private := range map[string]bool{"task": false, "private": true} {
		spec := bpf.ReadSpec(b, object)
		delete(spec.Programs, "deeper")
		c, err := collection.New(b.Context(), spec, &collection.Options{PrivateStack: private})
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		collections[name] = c
	}
	best := map[string]time.Duration{"task": math.MaxInt64, "private": math.MaxInt64}
	for b.Loop() {
		for name, c := range collections {
			a, err := c.AttachProgram(b.Context(), "large", "bench:three", &collection.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
			if err != nil {
				b.Fatal(err)
			}
			p.Do("%d", batch)
			start := time.Now()
			p.Do("%d", batch)
			best[name] = min(best[name], time.Since(start))
			if err := a.Close(); err != nil {
				b.Fatal(err)
			}
		}
	}
	for name, d := range best {
		b.ReportMetric(float64(d.Nanoseconds())/batch, name+"-ns/event")
	}
	b.ReportMetric(float64(best["task"])/float64(best["private"]), "task/private")
	b.ReportMetric(0, "ns/op")
}
