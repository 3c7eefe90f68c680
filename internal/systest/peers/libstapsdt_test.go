package peers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/reader"
)

// libstapsdt is the program of testdata/libstapsdt.c.
type libstapsdt struct {
	b *testing.B
	*tracee.Program
}

// startLibstapsdt builds and starts the program, where LIBSTAPSDT names a
// directory in which github.com/linux-usdt/libstapsdt was built.
func startLibstapsdt(b *testing.B) *libstapsdt {
	b.Helper()
	dir := os.Getenv("LIBSTAPSDT")
	if dir == "" {
		b.Skip("needs LIBSTAPSDT, a directory with libstapsdt's source in which make was run")
	}
	exe := filepath.Join(b.TempDir(), "libstapsdt")
	out, err := exec.Command("gcc", "-O2", "-I", filepath.Join(dir, "src"), "-o", exe, "testdata/libstapsdt.c",
		filepath.Join(dir, "out/libstapsdt.a"), "-lelf", "-ldl").CombinedOutput()
	if err != nil {
		b.Fatalf("build: %v\n%s", err, out)
	}
	c := &libstapsdt{b, tracee.Start(b, exec.Command(exe))}
	c.Line() // the provider is loaded
	return c
}

// run returns what the program measured, in nanoseconds.
func (c *libstapsdt) run(what string, n int) float64 {
	c.b.Helper()
	ns, err := strconv.ParseFloat(c.Do("%s %d", what, n), 64)
	if err != nil {
		c.b.Fatal(err)
	}
	return ns
}

// watch attaches an empty program to probe watched of a process.
func watch(b *testing.B, pid int) {
	b.Helper()
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.Kprobe, AttachType: ebpf.AttachTraceUprobeMulti, License: "MIT",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
	})
	if err != nil {
		b.Skipf("needs root, or CAP_BPF and CAP_PERFMON, to trace: %v", err)
	}
	b.Cleanup(func() { prog.Close() })
	process, err := reader.OpenProcess(pid)
	if err != nil {
		b.Fatal(err)
	}
	defer process.Close()
	for p, err := range process.Probes() {
		if err == nil && p.Name == "watched" {
			a, err := attach.AttachProbes(prog, []reader.Probe{p}, &attach.ProgramOptions{Target: attach.Target{PIDs: []int{pid}}})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { a.Close() })
			return
		}
	}
	b.Fatalf("process %d has no probe watched", pid)
}

// BenchmarkLibstapsdt measures what probes of three integers cost in this module
// and with libstapsdt: loading each of a thousand, asking whether one is watched,
// firing one that is not, and firing one that an empty BPF program watches.
func BenchmarkLibstapsdt(b *testing.B) {
	c := startLibstapsdt(b)
	p := provider.New("peers_go", nil)
	unwatched := provider.NewProbe3[uint64, uint64, uint64](p, "unwatched", "a", "b", "c")
	watched := provider.NewProbe3[uint64, uint64, uint64](p, "watched", "a", "b", "c")
	if err := p.Load(); err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	watch(b, os.Getpid())
	watch(b, c.PID())

	var many *provider.Provider
	loads := 0
	ask := func(what string) func(int) float64 {
		return func(n int) float64 { return c.run(what, n) }
	}
	const cheap, dear = 5_000_000, 100_000
	byTurns(b, 15, []contender{
		{name: "go-load", n: 1000, loop: func(n int) {
			loads++
			many = provider.New(fmt.Sprintf("many%d", loads), nil)
			for i := range n {
				provider.NewProbe3[uint64, uint64, uint64](many, fmt.Sprintf("probe_%06d", i), "a", "b", "c")
			}
			if err := many.Load(); err != nil {
				b.Fatal(err)
			}
		}, off: func() { many.Close() }},
		{name: "c-load", n: 1000, ns: ask("load")},
		{name: "go-enabled", n: cheap, loop: func(n int) {
			for range n {
				if unwatched.Enabled() {
					sink++
				}
			}
		}},
		{name: "c-enabled", n: cheap, ns: ask("enabled")},
		{name: "go-unwatched", n: cheap, loop: func(n int) {
			for i := range uint64(n) {
				unwatched.Fire(i, i, i)
			}
		}},
		{name: "c-unwatched", n: cheap, ns: ask("unwatched")},
		{name: "go-watched", n: dear, loop: func(n int) {
			for i := range uint64(n) {
				watched.Fire(i, i, i)
			}
		}},
		{name: "c-watched", n: dear, ns: ask("watched")},
	})
}
