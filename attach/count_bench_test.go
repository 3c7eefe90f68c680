package attach_test

import (
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/live"
	"github.com/go-usdt/usdt/reader"
)

// perCPUCounter returns a counter for each CPU, and a program written by hand that adds one.
func perCPUCounter(b *testing.B) (*ebpf.Map, asm.Instructions) {
	b.Helper()
	counter, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		giveUp(b, err)
	}
	b.Cleanup(func() { counter.Close() })
	return counter, asm.Instructions{
		asm.StoreImm(asm.R10, -4, 0, asm.Word),
		asm.LoadMapPtr(asm.R1, counter.FD()),
		asm.Mov.Reg(asm.R2, asm.R10), asm.Add.Imm(asm.R2, -4),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "exit"),
		asm.Mov.Imm(asm.R1, 1),
		asm.AddAtomic.Mem(asm.R0, asm.R1, asm.DWord, 0),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("exit"),
		asm.Return(),
	}
}

// BenchmarkCount measures the cost of an event that the kernel only counts: in a
// per-CPU counter written by hand, and in an Aggregate, also beside other probes, with a condition,
// by a key, and with a histogram.
func BenchmarkCount(b *testing.B) {
	b.Run("byhand", func(b *testing.B) {
		p := startChild(b, "fire")
		p.Do("load")
		probe := live.Probe(b, p.PID(), "bench:three")
		counter, count := perCPUCounter(b)
		prog := load(b, ebpf.AttachTraceUprobeMulti, count)
		a, err := attach.AttachProbes(prog, []reader.Probe{probe}, &attach.ProgramOptions{Target: attach.Target{PIDs: []int{p.PID()}}})
		if err != nil {
			giveUp(b, err)
		}
		defer a.Close()
		fire(b, p, func() int {
			var perCPU []uint64
			if err := counter.Lookup(uint32(0), &perCPU); err != nil {
				b.Fatal(err)
			}
			n := 0
			for _, c := range perCPU {
				n += int(c)
			}
			if err := counter.Put(uint32(0), make([]uint64, len(perCPU))); err != nil {
				b.Fatal(err)
			}
			return n
		})
	})
	for _, bench := range []struct {
		name, probes string
		what         attach.Aggregation
		where        string
	}{
		{"count", "bench:three", attach.Count(), ""},
		{"several", "bench:*", attach.Count(), ""},
		{"where", "bench:three", attach.Count(), "b >= 0 && c == 7"},
		{"by", "bench:three", attach.Count().By("c"), ""},
		{"hist", "bench:three", attach.Hist("b"), ""},
	} {
		b.Run(bench.name, func(b *testing.B) {
			p := startChild(b, "fire")
			p.Do("load")
			a := openAggregate(b, []string{bench.probes}, bench.what, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Where: bench.where})
			fire(b, p, func() int {
				groups, err := a.Read()
				if err != nil {
					b.Fatal(err)
				}
				n := 0
				for i := range groups {
					n += int(groups[i].Count)
				}
				return n
			})
		})
	}
}
