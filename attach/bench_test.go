package attach_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/kernel"
	"github.com/go-usdt/usdt/internal/systest/live"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/reader"
)

// compileMany makes a program with n probe sites many:pI, of three arguments
// in 8 different forms, and returns its path.
func compileMany(b testing.TB, n int) string {
	b.Helper()
	if runtime.GOARCH != "amd64" {
		b.Skip("the program is for x86-64")
	}
	var s strings.Builder
	s.WriteString(".text\n.globl _start\n_start:\n mov $60, %eax\n xor %edi, %edi\n syscall\n")
	for i := range n {
		fmt.Fprintf(&s, `s%d: nop
.pushsection .note.stapsdt,"","note"
.balign 4
.4byte 8, 2f-1f, 3
.asciz "stapsdt"
1: .8byte s%[1]d, 0, 0
.asciz "many"
.asciz "p%[1]d"
.asciz "8@%%rdi -4@%%esi 8@%d(%%rsp)"
2: .balign 4
.popsection
`, i, 8*(i%8))
	}
	dir := b.TempDir()
	src, out := filepath.Join(dir, "many.S"), filepath.Join(dir, "many")
	if err := os.WriteFile(src, []byte(s.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	if msg, err := exec.Command("gcc", "-nostdlib", "-static", "-o", out, src).CombinedOutput(); err != nil {
		needs.Skip(b, "needs gcc: %v: %s", err, msg)
	}
	return out
}

// giveUp ends a benchmark that could not be set up: skipped where a
// privilege or uprobe_multi is missing, and failed for any other reason.
func giveUp(b *testing.B, err error) {
	b.Helper()
	needPrivileges(b, err)
	needMulti(b, err)
	if errors.Is(err, os.ErrPermission) {
		needs.Skip(b, "%v", err)
	}
	b.Fatal(err)
}

func nothing(b *testing.B, typ ebpf.AttachType) *ebpf.Program {
	b.Helper()
	return load(b, typ, kernel.EmptyProgram())
}

func load(b *testing.B, typ ebpf.AttachType, ins asm.Instructions) *ebpf.Program {
	b.Helper()
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.Kprobe, AttachType: typ, Instructions: ins, License: "Dual MIT/GPL"})
	if err != nil {
		giveUp(b, err)
	}
	b.Cleanup(func() { prog.Close() })
	return prog
}

// BenchmarkAttach attaches to all sites of a file and detaches again: bare, by
// one system call on known offsets; and with everything that Open does.
func BenchmarkAttach(b *testing.B) {
	for _, n := range []int{1001, 100_000} {
		path := compileMany(b, n)
		b.Run(fmt.Sprintf("sites=%d/bare", n), func(b *testing.B) {
			prog := nothing(b, ebpf.AttachTraceUprobeMulti)
			f, err := reader.Open(path)
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			var offsets []uint64
			for p, err := range f.Probes() {
				if err != nil {
					b.Fatal(err)
				}
				offsets = append(offsets, p.Offset)
			}
			for b.Loop() {
				ex, err := link.OpenExecutable(path)
				if err != nil {
					b.Fatal(err)
				}
				l, err := ex.UprobeMulti(nil, prog, &link.UprobeMultiOptions{Addresses: offsets})
				if err != nil {
					giveUp(b, err)
				}
				l.Close()
			}
		})
		b.Run(fmt.Sprintf("sites=%d/Open", n), func(b *testing.B) {
			for b.Loop() {
				s, err := attach.Open(b.Context(), []string{path + ":many:*"}, nil)
				if err != nil {
					needPrivileges(b, err)
					b.Fatal(err)
				}
				if got := s.Plan().Attached(); got != n {
					b.Fatalf("attached %d sites, want %d", got, n)
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func init() {
	roles["fire"] = tracee.Obey(fireChild("bench", func(fire func()) { fire() }))
}

// fireChild fires a provider's probe as often as its commands say, called by run. The last
// argument is 7, or the command's second number.
func fireChild(name string, run func(fire func())) func(string) error {
	p := provider.New(name, nil)
	three := provider.NewProbe3[uint64, int32, uint64](p, "three", "a", "b", "c")
	return func(command string) error {
		if command == "load" {
			return p.Load()
		}
		n, last := 0, uint64(7)
		if got, err := fmt.Sscan(command, &n, &last); got == 0 {
			return err
		}
		run(func() {
			for i := range n {
				three.Fire(uint64(i), int32(i), last)
			}
		})
		return nil
	}
}

const batch = 20_000 // events at a time, which fit the buffer

// fire reports what an event costs the program: on average, and in the best
// batch, which other load on the machine disturbs least.
func fire(b *testing.B, p *tracee.Program, received func() int) {
	best := time.Duration(math.MaxInt64)
	for b.Loop() {
		start := time.Now()
		p.Do("%d", batch)
		best = min(best, time.Since(start))
		b.StopTimer()
		if n := received(); n != batch {
			b.Fatalf("received %d events, want %d", n, batch)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batch), "ns/event")
	b.ReportMetric(float64(best.Nanoseconds())/batch, "best-ns/event")
}

// BenchmarkEvent measures what an event of three integers costs the program that
// fires it, while another reads the events: with an empty BPF program attached,
// with one written by hand for this probe, and with a session.
func BenchmarkEvent(b *testing.B) {
	b.Run("empty", func(b *testing.B) {
		p := startChild(b, "fire")
		p.Do("load")
		probe := live.Probe(b, p.PID(), "bench:three")
		a, err := attach.AttachProbes(nothing(b, ebpf.AttachTraceUprobeMulti), []reader.Probe{probe}, &attach.ProgramOptions{Target: attach.Target{PIDs: []int{p.PID()}}})
		if err != nil {
			giveUp(b, err)
		}
		defer a.Close()
		fire(b, p, func() int { return batch })
	})
	b.Run("byhand", func(b *testing.B) {
		p := startChild(b, "fire")
		p.Do("load")
		probe := live.Probe(b, p.PID(), "bench:three")
		ring, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.RingBuf, MaxEntries: 4 << 20})
		if err != nil {
			giveUp(b, err)
		}
		defer ring.Close()
		rd, err := ringbuf.NewReader(ring)
		if err != nil {
			b.Fatal(err)
		}
		defer rd.Close()
		a, err := attach.AttachProbes(load(b, ebpf.AttachTraceUprobeMulti, byHand(ring)), []reader.Probe{probe}, &attach.ProgramOptions{Target: attach.Target{PIDs: []int{p.PID()}}})
		if err != nil {
			giveUp(b, err)
		}
		defer a.Close()
		var rec ringbuf.Record
		fire(b, p, func() (n int) {
			rd.Flush()
			for rd.ReadInto(&rec) == nil {
				n++
			}
			return n
		})
	})
	b.Run("session", func(b *testing.B) {
		p := startChild(b, "fire")
		p.Do("load")
		s := open(b, "bench:three", &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
		next, stop := pull(s)
		defer stop()
		fire(b, p, func() (n int) {
			for n = 0; !s.Idle(); n++ {
				if _, err := next(); err != nil {
					b.Fatal(err)
				}
			}
			return n
		})
	})
}

// byHand stores the site, time, thread, name and the three arguments, which are
// in known registers.
func byHand(ring *ebpf.Map) asm.Instructions {
	return asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.LoadMapPtr(asm.R1, ring.FD()),
		asm.Mov.Imm(asm.R2, 64),
		asm.Mov.Imm(asm.R3, 0),
		asm.FnRingbufReserve.Call(),
		asm.JEq.Imm(asm.R0, 0, "exit"),
		asm.Mov.Reg(asm.R7, asm.R0),
		asm.Mov.Imm(asm.R1, 1),
		asm.StoreMem(asm.R7, 0, asm.R1, asm.DWord),
		asm.FnKtimeGetNs.Call(),
		asm.StoreMem(asm.R7, 8, asm.R0, asm.DWord),
		asm.FnGetCurrentPidTgid.Call(),
		asm.StoreMem(asm.R7, 16, asm.R0, asm.DWord),
		asm.Mov.Reg(asm.R1, asm.R7),
		asm.Add.Imm(asm.R1, 24),
		asm.Mov.Imm(asm.R2, 16),
		asm.FnGetCurrentComm.Call(),
		asm.LoadMem(asm.R1, asm.R6, 112, asm.DWord), // pt_regs.di
		asm.StoreMem(asm.R7, 40, asm.R1, asm.DWord),
		asm.LoadMem(asm.R1, asm.R6, 104, asm.DWord), // pt_regs.si
		asm.StoreMem(asm.R7, 48, asm.R1, asm.DWord),
		asm.LoadMem(asm.R1, asm.R6, 96, asm.DWord), // pt_regs.dx
		asm.StoreMem(asm.R7, 56, asm.R1, asm.DWord),
		asm.Mov.Reg(asm.R1, asm.R7),
		asm.Mov.Imm(asm.R2, 0),
		asm.FnRingbufSubmit.Call(),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("exit"),
		asm.Return(),
	}
}
