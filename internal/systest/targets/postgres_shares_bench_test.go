package targets_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/kernel"
	"github.com/go-usdt/usdt/internal/systest/turns"
	"github.com/go-usdt/usdt/reader"
)

// benchmarkShares measures what the cost of tracing all probes is made of. Each tracer does
// what the one before it does, and something more: none; one that raises the semaphores;
// one whose program does nothing at each site; one that counts; one that prints.
func (p *postgres) benchmarkShares(b *testing.B) {
	sdttrace, all := filepath.Join(buildTracer(b), "sdttrace"), p.server+":postgresql:*"
	events := p.eventsPerTransaction(b, all)
	tracers := []struct {
		name string
		// attach begins to trace, until stop is called.
		attach func() (stop func())
	}{
		{"untraced", func() func() { return func() {} }},
		{"semaphores", func() func() { return p.raised(b) }},
		{"empty-program", func() func() { return p.trapped(b) }},
		{"count", func() func() { return p.tracedBy(b, sdttrace, "count", "--by", "probe", all) }},
		{"print", func() func() { return p.tracedBy(b, sdttrace, all) }},
	}
	var measure []func() float64
	for _, tr := range tracers {
		measure = append(measure, func() float64 {
			stop := tr.attach()
			defer stop()
			return p.transactionCost(b)
		})
	}
	for range b.N {
		medians := turns.Medians(7, measure...)
		b.ReportMetric(events, "events/tx")
		b.ReportMetric(medians[0]/1e3, "untraced-us/tx")
		for i, tr := range tracers[1:] {
			more := medians[i+1] - medians[i]
			b.ReportMetric(100*more/medians[0], tr.name+"-more-%")
			b.ReportMetric(more/events, tr.name+"-more-ns/event")
		}
	}
	b.ReportMetric(0, "ns/op")
	b.StopTimer()
}

// tracedBy has the server traced until stop is called.
func (p *postgres) tracedBy(b *testing.B, command ...string) (stop func()) {
	end := p.traced(b, command)
	return func() { end() }
}

// eventsPerTransaction returns how many of the selected probes a transaction fires.
func (p *postgres) eventsPerTransaction(b *testing.B, selector string) float64 {
	b.Helper()
	a, err := attach.OpenAggregate(b.Context(), []string{selector}, attach.Count(), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer a.Close()
	const all = 500
	p.client("pgbench", "-n", "-c", fmt.Sprint(clients), "-t", fmt.Sprint(all/clients))
	p.settled()
	groups, err := a.Read()
	if err != nil || len(groups) != 1 {
		b.Fatalf("groups %v, error %v, want one", groups, err)
	}
	return float64(groups[0].Count) / all
}

// probes returns the server's probes, in the memory of its first process.
func (p *postgres) probes(b *testing.B) (all []reader.Probe) {
	b.Helper()
	proc, err := reader.OpenProcess(p.pid)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { proc.Close() })
	for probe, err := range proc.Probes() {
		if err != nil {
			b.Fatal(err)
		}
		if probe.Provider == "postgresql" {
			all = append(all, probe)
		}
	}
	return all
}

// raised raises the semaphores in the server's first process, until stop is called: the
// processes that it forks have a copy. No site is attached to.
func (p *postgres) raised(b *testing.B) (stop func()) {
	b.Helper()
	set := func(value byte) {
		memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", p.pid), os.O_RDWR, 0)
		if err != nil {
			b.Fatal(err)
		}
		defer memory.Close()
		for _, probe := range p.probes(b) {
			if probe.Live.SemaphoreAddress == 0 {
				continue
			}
			if _, err := memory.WriteAt([]byte{value, 0}, int64(probe.Live.SemaphoreAddress)); err != nil {
				b.Fatal(err)
			}
		}
	}
	set(1)
	return func() { set(0) }
}

// trapped attaches a program that does nothing to all sites, until stop is called.
func (p *postgres) trapped(b *testing.B) (stop func()) {
	b.Helper()
	nothing, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.Kprobe, AttachType: ebpf.AttachTraceUprobeMulti, License: "Dual MIT/GPL",
		Instructions: kernel.EmptyProgram(),
	})
	if err != nil {
		b.Fatal(err)
	}
	defer nothing.Close()
	a, err := attach.AttachProbes(nothing, p.probes(b), nil)
	if err != nil {
		b.Fatal(err)
	}
	return func() {
		if err := a.Close(); err != nil {
			b.Error(err)
		}
	}
}
