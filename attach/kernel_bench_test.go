package attach_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/kernel"
	"github.com/go-usdt/usdt/internal/kernfunc"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// turns is how often contenders take turns: the fastest ones are compared, since other work on the machine
// only makes them slower.
const turns = 7

// ratio measures contenders by turns, and reports the fastest turns and by how much that of the first
// exceeds each other one.
func ratio(b *testing.B, names []string, contenders ...func() time.Duration) {
	b.Helper()
	took := make([][]time.Duration, len(contenders))
	for b.Loop() {
		for range turns {
			for i, do := range contenders {
				took[i] = append(took[i], do())
			}
		}
	}
	var fastest []float64
	for i := range took {
		fastest = append(fastest, float64(slices.Min(took[i])))
		b.ReportMetric(fastest[i]/1e6, names[i]+"-ms")
	}
	for i := 1; i < len(fastest); i++ {
		b.ReportMetric(fastest[0]/fastest[i], "/"+names[i])
	}
}

// timed returns how long do takes.
func timed(do func()) time.Duration {
	begun := time.Now()
	do()
	return time.Since(begun)
}

// aThousand returns a pattern of some thousand functions of the kernel itself.
func aThousand(b *testing.B, kind string) (pattern string) {
	b.Helper()
	needs.Kprobes(b)
	table, err := kernfunc.Load()
	if err != nil {
		giveUp(b, err)
	}
	counts := map[string]int{}
	for i := range table.Functions {
		if f := &table.Functions[i]; f.Module == kernfunc.Kernel && len(f.Name) > 2 {
			counts[f.Name[:2]]++
		}
	}
	best := ""
	for prefix, n := range counts {
		if n >= 1000 && (best == "" || n < counts[best] || n == counts[best] && prefix < best) {
			best = prefix
		}
	}
	return kind + ":vmlinux:" + best + "*"
}

// BenchmarkKernelAttach attaches to a thousand functions of the kernel and detaches again: to count
// calls, by one link when all is known, to read events with their arguments, and by a link for each
// function, as tracers without such links do.
func BenchmarkKernelAttach(b *testing.B) {
	kinds := []string{"kprobe"}
	if !attach.TrampolinesAlone() { // there are links of many functions by trampolines
		kinds = append(kinds, "fentry")
	}
	for _, kind := range kinds {
		b.Run(kind, func(b *testing.B) {
			pattern := aThousand(b, kind)
			open := func() *attach.Session {
				s, err := attach.Open(b.Context(), []string{pattern}, &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}})
				if err != nil {
					giveUp(b, err)
				}
				return s
			}
			s := open()
			var addresses []uintptr
			var ids []uint32
			for _, site := range s.Plan() {
				if site.Attached {
					addresses = append(addresses, uintptr(site.Probe.Location))
					ids = append(ids, site.Probe.Kernel.Types().TypeID)
				}
			}
			s.Close()
			b.Logf("%s: %d functions", pattern, len(addresses))
			bare := func() {
				prog := nothing(b, ebpf.AttachTraceKprobeMulti)
				l, err := link.KprobeMulti(prog, link.KprobeMultiOptions{Addresses: addresses})
				if err != nil {
					giveUp(b, err)
				}
				l.Close()
			}
			single := func(name string) {
				l, err := link.Kprobe(name, nothing(b, 0), nil)
				if err != nil {
					giveUp(b, err)
				}
				l.Close()
			}
			if kind == "fentry" {
				slices.Sort(ids)
				bare = func() { linkMany(b, ids) }
				single = func(name string) {
					prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.Tracing, AttachType: ebpf.AttachTraceFEntry, AttachTo: name, Instructions: kernel.EmptyProgram(), License: kernel.License})
					if err != nil {
						giveUp(b, err)
					}
					defer prog.Close()
					l, err := link.AttachTracing(link.TracingOptions{Program: prog})
					if err != nil {
						giveUp(b, err)
					}
					l.Close()
				}
			}
			const few = 3
			ratio(b, []string{"count", "bare", "events", "single"}, func() time.Duration {
				return timed(func() {
					a, err := attach.OpenAggregate(b.Context(), []string{pattern}, attach.Count(), &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}})
					if err != nil {
						giveUp(b, err)
					}
					if err := a.Close(); err != nil {
						b.Fatal(err)
					}
				})
			}, func() time.Duration { return timed(bare) }, func() time.Duration {
				return timed(func() {
					if err := open().Close(); err != nil {
						b.Fatal(err)
					}
				})
			}, func() time.Duration {
				return timed(func() {
					for _, name := range []string{"vfs_fallocate", "vfs_read", "vfs_write"}[:few] {
						single(name)
					}
				}) * time.Duration(len(addresses)) / few
			})
		})
	}
}

// linkMany attaches an empty program to functions by one link, and detaches.
func linkMany(b *testing.B, ids []uint32) {
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.Tracing, AttachType: 59, Instructions: kernel.EmptyProgram(), License: kernel.License}) // BPF_TRACE_FENTRY_MULTI
	if err != nil {
		giveUp(b, err)
	}
	defer prog.Close()
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&ids[0])
	attr := struct {
		prog, target, attachType, flags uint32
		ids, cookies                    uint64
		count, _                        uint32
	}{prog: uint32(prog.FD()), attachType: 59, ids: uint64(uintptr(unsafe.Pointer(&ids[0]))), count: uint32(len(ids))}
	fd, _, errno := unix.Syscall(unix.SYS_BPF, unix.BPF_LINK_CREATE, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	if errno != 0 {
		giveUp(b, errno)
	}
	unix.Close(int(fd))
}

// BenchmarkKernelEvent compares system calls of this process whose function is counted, by an
// Aggregate and by a program written by hand, of all processes and of this one, and measured, by calls
// and by two programs with a map.
func BenchmarkKernelEvent(b *testing.B) {
	needs.Kprobes(b)
	const function, calls = "kprobe:*_sys_getppid", 20_000
	own := &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}}
	all := (*attach.Options)(nil)
	during := func(open func() interface{ Close() error }) func() time.Duration {
		return func() time.Duration {
			l := open()
			defer l.Close()
			return timed(func() {
				for range calls {
					unix.Getppid()
				}
			})
		}
	}
	counts := func(o *attach.Options) func() interface{ Close() error } {
		return func() interface{ Close() error } {
			a, err := attach.OpenAggregate(b.Context(), []string{function}, attach.Count(), o)
			if err != nil {
				giveUp(b, err)
			}
			return a
		}
	}
	latency := func(key ...string) func() interface{ Close() error } {
		return func() interface{ Close() error } {
			l, err := attach.OpenLatency(b.Context(), function, strings.Replace(function, "kprobe", "kretprobe", 1), &attach.LatencyOptions{Key: key}, own)
			if err != nil {
				giveUp(b, err)
			}
			return l
		}
	}
	byHand := func(only asm.Instructions) func() interface{ Close() error } {
		return func() interface{ Close() error } {
			s := counts(all)().(*attach.Aggregate)
			address := uintptr(0)
			for _, site := range s.Plan() {
				address = uintptr(site.Probe.Location)
			}
			s.Close()
			_, count := perCPUCounter(b)
			prog := load(b, ebpf.AttachTraceKprobeMulti, slices.Concat(only, count))
			l, err := link.KprobeMulti(prog, link.KprobeMultiOptions{Addresses: []uintptr{address}})
			if err != nil {
				giveUp(b, err)
			}
			return l
		}
	}
	b.Run("count", func(b *testing.B) {
		ratio(b, []string{"count", "byhand"}, during(counts(all)), during(byHand(nil)))
	})
	b.Run("process", func(b *testing.B) {
		ratio(b, []string{"count", "byhand"}, during(counts(own)), during(byHand(asm.Instructions{
			asm.FnGetCurrentPidTgid.Call(), asm.RSh.Imm(asm.R0, 32),
			asm.JNE.Imm(asm.R0, int32(os.Getpid()), "exit"),
		})))
	})
	b.Run("latency", func(b *testing.B) { ratio(b, []string{"call", "map"}, during(latency()), during(latency("tid"))) })
}

// BenchmarkKernelTable compares what the table of functions takes of a processor, and the one that another process has
// kept, with a copy of /proc/kallsyms, of which it is made.
func BenchmarkKernelTable(b *testing.B) {
	needs.Kprobes(b)
	processor := func(do func() error) func() time.Duration {
		return func() time.Duration {
			var before, after unix.Rusage
			unix.Getrusage(unix.RUSAGE_SELF, &before)
			if err := do(); err != nil {
				giveUp(b, err)
			}
			unix.Getrusage(unix.RUSAGE_SELF, &after)
			return time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
		}
	}
	var table *kernfunc.Table
	kept := filepath.Join(b.TempDir(), "kernel")
	shared := processor(func() (err error) {
		table, err = kernfunc.Shared(kept)
		return err
	})
	shared() // and keeps it
	read := processor(func() (err error) {
		table, err = kernfunc.Read()
		return err
	})
	copied := processor(func() error {
		_, err := os.ReadFile("/proc/kallsyms")
		return err
	})
	ratio(b, []string{"table", "kallsyms", "kept"}, read, copied, shared)
	read()
	runtime.GC()
	var with, without runtime.MemStats
	runtime.ReadMemStats(&with)
	b.Logf("%d functions", len(table.Functions))
	table = nil
	runtime.GC()
	runtime.ReadMemStats(&without)
	b.ReportMetric(float64(with.HeapAlloc-without.HeapAlloc)/1e6, "MB")
}
