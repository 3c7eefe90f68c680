package sdtdump

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-usdt/usdt/elfgen"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/provider"
)

// sdtdump builds the command as it is shipped and returns its path.
func sdtdump(b *testing.B) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "sdtdump")
	b.Setenv("CGO_ENABLED", "0")
	needs.Run(b, "go", "build", "-trimpath", "-o", path, "github.com/go-usdt/usdt/cmd/sdtdump")
	return path
}

// timed runs the command, discards its output, and returns the time that it took and
// its peak memory in bytes.
func timed(b *testing.B, name string, args ...string) (time.Duration, int64) {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(self, append([]string{name}, args...)...)
	cmd.Args[0] = "measure"
	out, err := cmd.Output()
	if err != nil {
		b.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	var ns, peak int64
	if _, err := fmt.Sscan(string(out), &ns, &peak); err != nil {
		b.Fatal(err)
	}
	return time.Duration(ns), peak
}

// measure is a program that runs the one in its arguments and prints its time in
// nanoseconds and its memory in bytes. A process's peak begins with that of the
// process from which it was forked (kernel/fork.c: the memory is shared until exec),
// so a test, which is large, cannot measure it itself.
func measure() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stderr = os.Stderr
	start := time.Now()
	err := cmd.Run()
	took := time.Since(start)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(took.Nanoseconds(), cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss<<10)
}

// manyProbes writes an object with n probes, which have argStrings different argument
// strings, and returns its path.
func manyProbes(b *testing.B, n, argStrings int) string {
	b.Helper()
	const size = 1 << 20
	section := func(name string, flags elfgen.SectionFlag, size uint64) *elfgen.Section {
		return &elfgen.Section{Name: name, Type: elfgen.SHT_PROGBITS, Flags: flags, Align: 16, Size: size}
	}
	var (
		base  = section(notes.BaseSectionName, elfgen.SHF_ALLOC, 1)
		text  = section(".text", elfgen.SHF_ALLOC|elfgen.SHF_EXECINSTR, size)
		count = section(notes.ProbeSectionName, elfgen.SHF_ALLOC|elfgen.SHF_WRITE, uint64(2*n))
	)
	encode := func() (out []byte) {
		for i := range n {
			out = notes.Note{
				Provider: "bench", Name: fmt.Sprintf("probe_%06d", i),
				Location: text.Addr + uint64(8*i), Base: base.Addr, Semaphore: count.Addr + uint64(2*i),
				Args: fmt.Sprintf("8@%%rdi -4@%%esi 8@-16(%%rbp,%%rax,8) 4@$%d", i%argStrings),
			}.Append(out, binary.LittleEndian, notes.ELFCLASS64)
		}
		return out
	}
	note := &elfgen.Section{Name: notes.SectionName, Type: elfgen.SHT_NOTE, Align: 4, Size: uint64(len(encode()))}
	obj := &elfgen.Object{
		Class: elfgen.ELFCLASS64, Data: elfgen.ELFDATA2LSB, Machine: elfgen.EM_X86_64,
		Sections: []*elfgen.Section{base, text, count, note},
	}
	img, err := obj.Layout()
	if err != nil {
		b.Fatal(err)
	}
	copy(img.Contents(note), encode())
	path := filepath.Join(b.TempDir(), "many.so")
	if err := os.WriteFile(path, img.Finish(), 0o755); err != nil {
		b.Fatal(err)
	}
	return path
}

// BenchmarkManyProbes lists 100,000 probes with sdtdump and with readelf -n, in
// turns. Programs repeat few argument strings (a JDK's 531 sites have 128); in the
// worst case all differ.
func BenchmarkManyProbes(b *testing.B) {
	needs.Tools(b, "readelf")
	const n = 100_000
	exe := sdtdump(b)
	for _, tt := range []struct {
		name string
		make func() string
	}{
		{"argstrings=1000", func() string { return manyProbes(b, n, 1000) }},
		{"argstrings=100000", func() string { return manyProbes(b, n, n) }},
		{"typed", func() string { return providerObject(b, n) }},
	} {
		b.Run(tt.name, func(b *testing.B) {
			object := tt.make()
			var own, peer []time.Duration
			var peak int64
			turn := func() {
				d, rss := timed(b, exe, object)
				own, peak = append(own, d), max(peak, rss)
				d, _ = timed(b, "readelf", "-nW", object)
				peer = append(peer, d)
			}
			for b.Loop() {
				turn()
			}
			for len(own) < 7 { // machines are noisy, and medians need a few
				turn()
			}
			report(b, median(own))
			b.ReportMetric(float64(median(peer))/float64(median(own)), "readelf/sdtdump")
			b.ReportMetric(float64(peak)/(1<<20), "MiB-peak")
		})
	}
}

// providerObject writes the object of a provider with n probes of three named
// arguments and returns its path.
func providerObject(b *testing.B, n int) string {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "objects")
	p := provider.New("many", &provider.Options{Backing: provider.BackingFile, Dir: dir})
	for i := range n {
		provider.NewProbe3[uint64, string, float64](p, fmt.Sprintf("probe_%06d", i), "id", "path", "load")
	}
	if err := p.Load(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { p.Close() })
	files, err := filepath.Glob(filepath.Join(dir, "many-*.so"))
	if err != nil || len(files) != 1 {
		b.Fatalf("the provider made %v (%v), want one object", files, err)
	}
	return files[0]
}

// report reports the time of the command alone instead of that of the round.
func report(b *testing.B, own time.Duration) {
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(own.Microseconds())/1000, "ms/sdtdump")
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// BenchmarkAllProcesses reads a machine with 200 more processes, each of which has
// mapped 10 libraries that all have probes.
func BenchmarkAllProcesses(b *testing.B) {
	needs.C(b)
	const processes, libraries = 200, 10
	exe, dir := sdtdump(b), b.TempDir()
	args := []string{strconv.Itoa(processes)}
	for i := range libraries {
		source, lib := filepath.Join(dir, "lib.c"), filepath.Join(dir, fmt.Sprintf("lib%d.so", i))
		text := fmt.Sprintf("#include <sys/sdt.h>\nvoid f%d(int a, long b) { STAP_PROBE2(lib%[1]d, called, a, b); }\n", i)
		if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
		needs.Run(b, "gcc", "-shared", "-fPIC", "-O1", "-o", lib, source)
		args = append(args, lib)
	}
	prog := filepath.Join(dir, "opens")
	needs.Run(b, "gcc", "-o", prog, "testdata/opens.c", "-ldl")
	tracee.Start(b, exec.Command(prog, args...)).Line()
	lines, err := exec.Command(exe, "-a", "--json", "--probe", "lib*:called").Output()
	if n := strings.Count(string(lines), "\n"); err != nil || n < processes*libraries {
		b.Fatalf("got %d probes, want at least %d: %v", n, processes*libraries, err)
	}
	var own []time.Duration
	var peak int64
	for b.Loop() {
		d, rss := timed(b, exe, "-a")
		own, peak = append(own, d), max(peak, rss)
	}
	report(b, median(own))
	b.ReportMetric(float64(peak)/(1<<20), "MiB-peak")
}
