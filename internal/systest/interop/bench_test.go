package interop_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/kernel"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/internal/systest/turns"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/reader"
)

// peer is the C program of testdata/peer.c.
type peer struct {
	*tracee.Program
	b    *testing.B
	path string
}

func startPeer(b *testing.B) *peer {
	b.Helper()
	path := filepath.Join(b.TempDir(), "peer")
	needs.Run(b, "gcc", "-O2", "-o", path, "testdata/peer.c")
	return &peer{tracee.Start(b, exec.Command(path)).Ready(), b, path}
}

// run returns the nanoseconds of a round of the peer's loop.
func (p *peer) run(mode string, n int) float64 {
	ns, err := strconv.ParseFloat(p.Do("%s %d", mode, n), 64)
	if err != nil {
		p.b.Fatal(err)
	}
	return ns
}

// quiet keeps the benchmark's own time out of the report; the metrics count.
func quiet(b *testing.B) {
	b.ReportMetric(0, "ns/op")
	b.StopTimer()
}

var sink int

// BenchmarkUnwatched measures what a probe of three arguments costs while nobody
// watches: in Go, and in C with sys/sdt.h and a semaphore.
func BenchmarkUnwatched(b *testing.B) {
	need(b, "gcc")
	p := provider.New("unwatched", nil)
	probe := provider.NewProbe3[uint64, string, uint64](p, "three", "a", "b", "c")
	if err := p.Load(); err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	c := startPeer(b)
	const n = 20_000_000
	text := "sixteen bytes ok"
	for range b.N {
		m := turns.Medians(15,
			func() float64 {
				return turns.PerCall(n, func(n int) {
					for i := range n {
						sink = i
					}
				})
			},
			func() float64 {
				return turns.PerCall(n, func(n int) {
					for i := range n {
						sink = i
						probe.Fire(uint64(i), text, uint64(i))
					}
				})
			},
			func() float64 { return c.run("empty", n) },
			func() float64 { return c.run("checked", n) })
		b.ReportMetric(m[1]-m[0], "ns-over-empty")
		b.ReportMetric(m[1], "go-ns")
		b.ReportMetric(m[3], "c-ns")
		b.ReportMetric(m[1]/m[3], "go/c")
	}
	quiet(b)
}

// emptyProgram returns a program that does nothing, for uprobe_multi.
func emptyProgram(b *testing.B) *ebpf.Program {
	b.Helper()
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.Kprobe, AttachType: ebpf.AttachTraceUprobeMulti, License: "MIT",
		Instructions: kernel.EmptyProgram(),
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { prog.Close() })
	return prog
}

// watch attaches the empty program to a probe.
func watch(b *testing.B, p *reader.Probe) {
	b.Helper()
	a, err := attach.AttachProbes(emptyProgram(b), []reader.Probe{*p}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { a.Close() })
}

// watchSymbol attaches the empty program to a function.
func watchSymbol(b *testing.B, path, name string) {
	b.Helper()
	f, err := elf.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	syms, err := f.Symbols()
	if err != nil {
		b.Fatal(err)
	}
	i := slices.IndexFunc(syms, func(s elf.Symbol) bool { return s.Name == name })
	if i < 0 {
		b.Fatalf("%s has no symbol %s", path, name)
	}
	text := f.Sections[syms[i].Section]
	ex, err := link.OpenExecutable(path)
	if err != nil {
		b.Fatal(err)
	}
	l, err := ex.UprobeMulti(nil, emptyProgram(b), &link.UprobeMultiOptions{Addresses: []uint64{syms[i].Value - text.Addr + text.Offset}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
}

// BenchmarkWatched measures what firing costs with an empty BPF program attached:
// from Go, with three integers, also at a plain nop, which kernels before 6.18
// replace by a breakpoint, and with a string of 16 bytes; from C, calling the
// same stub and at a site of sys/sdt.h.
func BenchmarkWatched(b *testing.B) {
	need(b, "gcc")
	p := provider.New("watched", nil)
	ints := provider.NewProbe3[uint64, uint64, uint64](p, "ints", "a", "b", "c")
	text := provider.NewProbe3[uint64, string, uint64](p, "text", "a", "b", "c")
	if err := p.Load(); err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	trapped := provider.New("watched_nop", &provider.Options{Site: provider.SiteNop})
	nop := provider.NewProbe3[uint64, uint64, uint64](trapped, "ints", "a", "b", "c")
	if err := trapped.Load(); err != nil {
		b.Fatal(err)
	}
	defer trapped.Close()
	c := startPeer(b)
	for _, w := range []reader.Probe{
		probe(b, os.Getpid(), "watched", "ints"),
		probe(b, os.Getpid(), "watched_nop", "ints"),
		probe(b, os.Getpid(), "watched", "text"),
		probe(b, c.PID(), "peer", "site"),
	} {
		watch(b, &w)
	}
	watchSymbol(b, c.path, "stub")
	const n = 200_000
	s := "sixteen bytes ok"
	for range b.N {
		m := turns.Medians(11,
			func() float64 { return c.run("stub", n) },
			func() float64 {
				return turns.PerCall(n, func(n int) {
					for i := range uint64(n) {
						ints.Fire(i, i, i)
					}
				})
			},
			func() float64 {
				return turns.PerCall(n, func(n int) {
					for i := range uint64(n) {
						text.Fire(i, s, i)
					}
				})
			},
			func() float64 { return c.run("site", n) },
			func() float64 {
				return turns.PerCall(n, func(n int) {
					for i := range uint64(n) {
						nop.Fire(i, i, i)
					}
				})
			})
		b.ReportMetric(m[0], "c-stub-ns")
		b.ReportMetric(m[1], "go-ns")
		b.ReportMetric(m[1]/m[0], "go/c-stub")
		b.ReportMetric(m[2]-m[1], "string-ns")
		b.ReportMetric(m[3], "c-sdt-ns")
		b.ReportMetric(m[4], "go-nop-ns")
		b.ReportMetric(m[3]/m[1], "c-sdt/go")
		// Report the gain of the kernel's optimisation on this machine.
		b.ReportMetric(m[3]/m[0], "c-sdt/c-stub")
	}
	quiet(b)
}
