package interop_test

import (
	"bufio"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/reader"
)

// peer is the C program of testdata/peer.c.
type peer struct {
	b    *testing.B
	path string
	pid  int
	in   io.Writer
	out  *bufio.Reader
}

func startPeer(b *testing.B) *peer {
	b.Helper()
	p := &peer{b: b, path: filepath.Join(b.TempDir(), "peer")}
	if out, err := exec.Command("gcc", "-O2", "-o", p.path, "testdata/peer.c").CombinedOutput(); err != nil {
		b.Fatalf("gcc: %v\n%s", err, out)
	}
	cmd := exec.Command(p.path)
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	p.pid, p.in, p.out = cmd.Process.Pid, in, bufio.NewReader(out)
	p.line()
	b.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	return p
}

func (p *peer) line() string {
	s, err := p.out.ReadString('\n')
	if err != nil {
		p.b.Fatal(err)
	}
	return strings.TrimSpace(s)
}

// run returns the nanoseconds of a round of the peer's loop.
func (p *peer) run(mode string, n int) float64 {
	fmt.Fprintln(p.in, mode, n)
	ns, err := strconv.ParseFloat(p.line(), 64)
	if err != nil {
		p.b.Fatal(err)
	}
	return ns
}

// perRound returns the nanoseconds of a call of loop(n), by n.
func perRound(n int, loop func(n int)) float64 {
	begin := time.Now()
	loop(n)
	return float64(time.Since(begin)) / float64(n)
}

// interleave measures all of fns by turns, since machines are noisy, and
// returns each one's median.
func interleave(rounds int, fns ...func() float64) []float64 {
	all := make([][]float64, len(fns))
	for range rounds {
		for i, fn := range fns {
			all[i] = append(all[i], fn())
		}
	}
	medians := make([]float64, len(fns))
	for i := range all {
		slices.Sort(all[i])
		medians[i] = all[i][rounds/2]
	}
	return medians
}

// quiet keeps the benchmark's own time out of the report; the metrics count.
func quiet(b *testing.B) {
	b.ReportMetric(0, "ns/op")
	b.StopTimer()
}

var sink int

// BenchmarkUnwatched is what a probe of three arguments costs while nobody
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
		m := interleave(15,
			func() float64 {
				return perRound(n, func(n int) {
					for i := range n {
						sink = i
					}
				})
			},
			func() float64 {
				return perRound(n, func(n int) {
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
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
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
	a, err := attach.Probe(emptyProgram(b), p, nil)
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

// BenchmarkWatched is what firing costs under an empty BPF program: from Go,
// with three integers and with a string of 16 bytes; from C, calling the same
// stub and at a site of sys/sdt.h.
func BenchmarkWatched(b *testing.B) {
	need(b, "gcc")
	p := provider.New("watched", nil)
	ints := provider.NewProbe3[uint64, uint64, uint64](p, "ints", "a", "b", "c")
	text := provider.NewProbe3[uint64, string, uint64](p, "text", "a", "b", "c")
	if err := p.Load(); err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	c := startPeer(b)
	for _, w := range []reader.Probe{
		probe(b, os.Getpid(), "watched", "ints"),
		probe(b, os.Getpid(), "watched", "text"),
		probe(b, c.pid, "peer", "site"),
	} {
		watch(b, &w)
	}
	watchSymbol(b, c.path, "stub")
	const n = 200_000
	s := "sixteen bytes ok"
	for range b.N {
		m := interleave(11,
			func() float64 { return c.run("stub", n) },
			func() float64 {
				return perRound(n, func(n int) {
					for i := range uint64(n) {
						ints.Fire(i, i, i)
					}
				})
			},
			func() float64 {
				return perRound(n, func(n int) {
					for i := range uint64(n) {
						text.Fire(i, s, i)
					}
				})
			},
			func() float64 { return c.run("site", n) })
		b.ReportMetric(m[0], "c-stub-ns")
		b.ReportMetric(m[1], "go-ns")
		b.ReportMetric(m[1]/m[0], "go/c-stub")
		b.ReportMetric(m[2]-m[1], "string-ns")
		b.ReportMetric(m[3], "c-sdt-ns")
		b.ReportMetric(m[3]/m[1], "c-sdt/go")
		// What the kernel's optimisation is worth on this machine.
		b.ReportMetric(m[3]/m[0], "c-sdt/c-stub")
	}
	quiet(b)
}

// declareMany declares and loads n probes of three arguments.
func declareMany(b testing.TB, names []string) *provider.Provider {
	p := provider.New("many", nil)
	for _, name := range names {
		provider.NewProbe3[uint64, string, float64](p, name, "id", "path", "load")
	}
	if err := p.Load(); err != nil {
		b.Fatal(err)
	}
	return p
}

func manyNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("probe_%06d", i)
	}
	return names
}

// BenchmarkLoad is the time to declare and load probes of three arguments.
func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{1001, 10_000, 100_000} {
		names := manyNames(n)
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			for range b.N {
				p := declareMany(b, names)
				b.StopTimer()
				p.Close()
				runtime.GC()
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(n), "ns/probe")
		})
	}
}

// BenchmarkLoadMemory is the memory of 100,000 loaded probes: what is retained
// after a collection, memfd included, and the peak of resident memory.
func BenchmarkLoadMemory(b *testing.B) {
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	for range b.N {
		cmd := exec.Command(exe, "-test.run", "^TestLoadMemoryChild$", "-test.v")
		cmd.Env = append(os.Environ(), "USDT_TEST_MEMORY=1")
		out, err := cmd.Output()
		if err != nil {
			b.Fatal(err)
		}
		var retained, peak float64
		for line := range strings.Lines(string(out)) {
			fmt.Sscanf(line, "retained %f peak %f", &retained, &peak)
		}
		if retained == 0 {
			b.Fatalf("no numbers in %q", out)
		}
		b.ReportMetric(retained, "retained-MiB")
		b.ReportMetric(peak, "peak-MiB")
	}
	quiet(b)
}

// TestLoadMemoryChild is the process that BenchmarkLoadMemory starts.
func TestLoadMemoryChild(t *testing.T) {
	if os.Getenv("USDT_TEST_MEMORY") == "" {
		return
	}
	before := status(t, "VmRSS")
	p := declareMany(t, manyNames(100_000))
	debug.FreeOSMemory()
	retained := status(t, "VmRSS") - before
	var memfd int64
	fds, _ := filepath.Glob("/proc/self/fd/*")
	for _, fd := range fds {
		if name, _ := os.Readlink(fd); strings.HasPrefix(name, "/memfd:usdt:") {
			if info, err := os.Stat(fd); err == nil {
				memfd += info.Size() >> 10
			}
		}
	}
	fmt.Printf("retained %.1f peak %.1f\n", float64(retained+memfd)/1024, float64(status(t, "VmHWM"))/1024)
	runtime.KeepAlive(p)
}

// status returns a number of /proc/self/status in KiB.
func status(t testing.TB, key string) int64 {
	t.Helper()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, key+":"); ok {
			n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("no %s", key)
	return 0
}
