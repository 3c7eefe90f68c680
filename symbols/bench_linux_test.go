package symbols_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/symbols"
)

// bigLibrary links a library of 100 MB, most of it debugging information, of copies of
// one object whose symbols have different names. USDT_BIG names one that is used
// instead.
func bigLibrary(b *testing.B) string {
	b.Helper()
	if path := os.Getenv("USDT_BIG"); path != "" {
		return path
	}
	needs.Tools(b, "g++", "objcopy")
	dir := b.TempDir()
	one, path := filepath.Join(dir, "one.o"), filepath.Join(dir, "libbig.so")
	needs.Run(b, "g++", "-std=c++17", "-O1", "-g", "-fPIC", "-c", "-o", one, "testdata/big.cc")
	info, err := os.Stat(one)
	if err != nil {
		b.Fatal(err)
	}
	args := []string{"-shared", "-nostdlib", "-Wl,--unresolved-symbols=ignore-all", "-Wl,--defsym=__dso_handle=0", "-o", path}
	for i := range 130<<20/info.Size() + 1 {
		prefix, out := fmt.Sprintf("p%d_", i), filepath.Join(dir, fmt.Sprintf("part%d.o", i))
		needs.Run(b, "objcopy", "--prefix-symbols="+prefix, one, out)
		needs.Run(b, "objcopy", "--redefine-sym", prefix+"__dso_handle=__dso_handle", out)
		args = append(args, out)
	}
	needs.Run(b, "g++", args...)
	return path
}

// BenchmarkBig measures the first name in a file of 100 MB, and further ones: at
// addresses in code that was not looked at before, and in code that was. The peer is
// llvm-symbolizer.
func BenchmarkBig(b *testing.B) {
	path := bigLibrary(b)
	addrs, _ := sample(b, path, 20000)
	open := func(b *testing.B) (*symbols.Resolver, *symbols.Space) {
		r := symbols.NewResolver(nil)
		id, err := r.Add(path)
		if err != nil {
			b.Fatal(err)
		}
		// The linker puts code at offsets that are its addresses.
		return r, r.Recorded([]symbols.Module{{Path: path, BuildID: id, End: 1 << 30}})
	}
	first := func(b *testing.B, s *symbols.Space, addr uint64) {
		if frames := s.AppendFrames(nil, addr); frames[0].Line == 0 {
			b.Fatal(frames)
		}
	}
	b.Run("first", func(b *testing.B) {
		var most uint64
		for b.Loop() {
			runtime.GC()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r, s := open(b)
			first(b, s, addrs[len(addrs)/2])
			runtime.ReadMemStats(&after)
			most = max(most, after.TotalAlloc-before.TotalAlloc) // even if nothing were freed
			r.Close()
		}
		b.ReportMetric(float64(most)/1e6, "MB")
	})
	b.Run("first/peer=llvm-symbolizer", func(b *testing.B) {
		needs.Tools(b, "llvm-symbolizer")
		for b.Loop() {
			needs.Run(b, "llvm-symbolizer", "--inlines", "--obj="+path, fmt.Sprintf("%#x", addrs[len(addrs)/2]))
		}
	})
	b.Run("all", func(b *testing.B) {
		var after runtime.MemStats
		var dst []symbols.Frame
		for b.Loop() {
			r, s := open(b)
			for _, a := range addrs {
				dst = s.AppendFrames(dst[:0], a)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			used, _ := r.Used()
			b.ReportMetric(float64(used)/1e6, "MB-said")
			r.Close()
		}
		b.ReportMetric(float64(after.HeapAlloc)/1e6, "MB")
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(addrs)), "ns/address")
	})
	b.Run("again", func(b *testing.B) {
		r, s := open(b)
		defer r.Close()
		var dst []symbols.Frame
		frames := 0
		for _, a := range addrs {
			s.AppendFrames(nil, a)
		}
		b.ReportAllocs()
		for b.Loop() {
			for _, a := range addrs {
				dst = s.AppendFrames(dst[:0], a)
				frames += len(dst)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(frames), "ns/frame")
	})
	b.Run("all/peer=llvm-symbolizer", func(b *testing.B) {
		needs.Tools(b, "llvm-symbolizer")
		var in bytes.Buffer
		for _, a := range addrs {
			fmt.Fprintf(&in, "%#x\n", a)
		}
		for b.Loop() {
			cmd := exec.Command("llvm-symbolizer", "--inlines", "--obj="+path)
			cmd.Stdin = bytes.NewReader(in.Bytes())
			if err := cmd.Run(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(addrs)), "ns/address")
	})
}

// BenchmarkFrames measures names at addresses that were named before: in this process,
// written in Go, and in the C library.
func BenchmarkFrames(b *testing.B) {
	r := symbols.NewResolver(nil)
	defer r.Close()
	s, err := r.Process(os.Getpid())
	if err != nil {
		b.Fatal(err)
	}
	pcs := make([]uintptr, 64)
	pcs = pcs[:runtime.Callers(0, pcs)]
	var dst []symbols.Frame
	b.ReportAllocs()
	frames := 0
	for b.Loop() {
		for _, pc := range pcs {
			dst = s.AppendFrames(dst[:0], uint64(pc))
			frames += len(dst)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(frames), "ns/frame")
}

// BenchmarkUnwind measures unwinding of copied stacks of 16 kB.
func BenchmarkUnwind(b *testing.B) {
	for name, start := range map[string]func() (pid, tid int){
		"C": func() (int, int) {
			pid := start(b, needs.Compile(b, "testdata/deep.c", "gcc", "-O2", "-fomit-frame-pointer"))
			return pid, pid
		},
		"Go": func() (int, int) {
			p := startGo(b, buildGo(b, "", "-ldflags=-s -w"))
			return p.pid, p.tid
		},
	} {
		b.Run(name, func(b *testing.B) {
			pid, tid := start()
			awaitBlocked(b, tid)
			regs, stack := copyStack(b, tid, 16<<10)
			r := symbols.NewResolver(nil)
			defer r.Close()
			s, err := r.Process(pid)
			if err != nil {
				b.Fatal(err)
			}
			var dst []uint64
			b.ReportAllocs()
			for b.Loop() {
				dst = s.Unwind(dst[:0], regs, stack).PCs
			}
			b.ReportMetric(float64(len(dst)), "frames")
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "stacks/s")
		})
	}
}
