package kernel

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/ringbuf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// newRing returns a ring buffer, and a function by which a program writes a record to it.
func newRing(t *testing.T) (ring *ebpf.Map, write func()) {
	t.Helper()
	ring, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.RingBuf, MaxEntries: uint32(os.Getpagesize())})
	if errors.Is(err, os.ErrPermission) {
		needs.Skip(t, "needs CAP_BPF: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ring.Close() })
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.RawTracepoint, License: License,
		Instructions: asm.Instructions{
			asm.Mov.Imm(asm.R1, 1), asm.StoreMem(asm.R10, -8, asm.R1, asm.DWord),
			asm.LoadMapPtr(asm.R1, ring.FD()),
			asm.Mov.Reg(asm.R2, asm.R10), asm.Add.Imm(asm.R2, -8),
			asm.Mov.Imm(asm.R3, 8),
			asm.Mov.Imm(asm.R4, 0),
			asm.FnRingbufOutput.Call(),
			asm.Return(),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { prog.Close() })
	return ring, func() {
		t.Helper()
		if errno, err := prog.Run(&ebpf.RunOptions{}); err != nil || errno != 0 {
			t.Fatalf("the program returns %d, %v", int32(errno), err)
		}
	}
}

// TestRingPosition checks that records wake up nobody after StepBack, and that one does
// after Return.
func TestRingPosition(t *testing.T) {
	ring, write := newRing(t)
	reader, err := ringbuf.NewReader(ring)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	position, err := MapRingPosition(ring.FD())
	if err != nil {
		t.Fatal(err)
	}
	defer position.Close()

	poll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(poll)
	// EPOLLET: only a wake-up is told, not that there are records.
	if err := unix.EpollCtl(poll, unix.EPOLL_CTL_ADD, ring.FD(), &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET}); err != nil {
		t.Fatal(err)
	}
	woken := func(patience time.Duration) bool {
		t.Helper()
		for deadline := time.Now().Add(patience); ; {
			n, err := unix.EpollWait(poll, make([]unix.EpollEvent, 1), int(max(0, time.Until(deadline)).Milliseconds()))
			if err == unix.EINTR {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			return n > 0
		}
	}
	const soon, long = 20 * time.Millisecond, 30 * time.Second
	read := func() {
		t.Helper()
		if rec, err := reader.Read(); err != nil || len(rec.RawSample) != 8 || rec.Remaining > 0 {
			t.Fatalf("read %d bytes, %d remain, %v; want one record", len(rec.RawSample), rec.Remaining, err)
		}
	}
	write()
	if !woken(long) {
		t.Error("the first record wakes up nobody")
	}
	read()
	for round := range 3 {
		position.StepBack()
		position.StepBack() // does no more
		if n := reader.AvailableBytes(); n != RingStep {
			t.Fatalf("round %d: %d bytes seem to wait, want %d", round, n, RingStep)
		}
		write()
		if woken(soon) {
			t.Errorf("round %d: a record behind a position that was stepped back wakes somebody up", round)
		}
		position.Return()
		position.Return()
		read()
		write()
		if !woken(long) {
			t.Errorf("round %d: a record behind what was read wakes up nobody", round)
		}
		read()
	}
	if err := errors.Join(position.Close(), position.Close()); err != nil {
		t.Error(err)
	}
}
