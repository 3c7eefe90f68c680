package attach_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/ringbuf"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/attach/argasm"
	"github.com/go-usdt/usdt/internal/systest/live"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/reader"
)

// newRing returns a ring buffer of one page, and what it holds.
func newRing(t *testing.T) (*ebpf.Map, func() [][]byte) {
	t.Helper()
	ring, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.RingBuf, MaxEntries: uint32(os.Getpagesize())})
	if err != nil {
		needs.Skip(t, "%v", err)
	}
	r, err := ringbuf.NewReader(ring)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { errors.Join(r.Close(), ring.Close()) })
	r.SetDeadline(time.Unix(1, 0)) // what is there now
	return ring, func() (all [][]byte) {
		for {
			rec, err := r.Read()
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return all
			} else if err != nil {
				t.Fatal(err)
			}
			all = append(all, rec.RawSample)
		}
	}
}

// ringProgram returns a program that puts the first argument of a probe into a ring.
func ringProgram(t *testing.T, p *reader.Probe, ring *ebpf.Map) *ebpf.Program {
	t.Helper()
	arg, err := argasm.Reader{Failed: "exit"}.Arg(p, 0)
	if err != nil {
		t.Fatal(err)
	}
	ins := append(asm.Instructions{asm.Mov.Reg(asm.R6, asm.R1)}, arg...)
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.Kprobe, License: "GPL", Instructions: append(ins,
		asm.StoreMem(asm.R10, -8, asm.R0, asm.DWord),
		asm.StoreImm(asm.R10, -16, -1, asm.Word), // no record of an event
		asm.StoreImm(asm.R10, -12, 0, asm.Word),
		asm.LoadMapPtr(asm.R1, ring.FD()),
		asm.Mov.Reg(asm.R2, asm.R10), asm.Add.Imm(asm.R2, -16),
		asm.Mov.Imm(asm.R3, 16), asm.Mov.Imm(asm.R4, 0),
		asm.FnRingbufOutput.Call(),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("exit"), asm.Return(),
	)})
	if err != nil {
		needPrivileges(t, err)
		t.Fatalf("%+v", err)
	}
	t.Cleanup(func() { prog.Close() })
	return prog
}

// TestRing has events and the records of another program in one ring.
func TestRing(t *testing.T) {
	p := provider.New("ringed", nil)
	t.Cleanup(func() { p.Close() })
	probe := provider.NewProbe2[int, string](p, "done", "n", "path")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	target := attach.Target{PIDs: []int{os.Getpid()}}
	for _, omit := range []attach.Omit{0, attach.OmitComm, attach.OmitTime | attach.OmitProcess | attach.OmitComm} {
		ring, records := newRing(t)
		s := openEvents(t, "ringed:done", &attach.EventOptions{Ring: ring, Omit: omit}, &attach.Options{Target: target, Where: "n % 2 == 0"})
		found := live.Probe(t, os.Getpid(), "ringed:done")
		a, err := attach.AttachProbes(ringProgram(t, &found, ring), []reader.Probe{found}, &attach.ProgramOptions{Target: target})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { a.Close() })
		for i := range 10 {
			probe.Fire(i, fmt.Sprint("/", i))
		}
		events, owned := 0, uint64(0)
		for _, rec := range records() {
			if int32(binary.NativeEndian.Uint32(rec)) < 0 {
				if n := binary.NativeEndian.Uint64(rec[8:]); n != owned {
					t.Errorf("the program's record %d has argument %d", owned, n)
				}
				owned++
				continue
			}
			ev, err := s.Decode(rec)
			if err != nil || ev.Args[0].Value != int64(2*events) || ev.Args[1].Value != fmt.Sprint("/", 2*events) || (ev.Comm == "") != (omit != 0) {
				t.Errorf("omit %d: event %d is %+v, error %v", omit, events, ev, err)
			}
			events++
		}
		if st := checkSum(t, s); events != 5 || owned != 10 || st.Received != 5 || st.Filtered != 5 {
			t.Errorf("omit %d: %d events, %d records of the program, stats %+v; want 5 and 10", omit, events, owned, st)
		}
		a.Close()

		const many = 1000 // more than the ring holds
		for i := range many {
			probe.Fire(2*i, "/")
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		left := records()
		if st := checkSum(t, s); len(left) == 0 || st.Unread != uint64(len(left)) || st.Lost != uint64(many-len(left)) || st.Full != st.Lost {
			t.Errorf("omit %d: %d events in the ring, stats %+v", omit, len(left), st)
		}
		if _, err := s.Decode(left[0]); !errors.Is(err, attach.ErrClosed) {
			t.Errorf("Decode after Close: %v", err)
		}
	}
}

// TestRefusedRing refuses what nothing can be written to.
func TestRefusedRing(t *testing.T) {
	ring, _ := newRing(t)
	array, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 4, MaxEntries: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer array.Close()
	for name, test := range map[string]struct {
		what attach.EventOptions
		via  attach.Via
	}{
		"an array":      {attach.EventOptions{Ring: array}, attach.ViaAny},
		"two sizes":     {attach.EventOptions{Ring: ring, RingSize: 1 << 20}, attach.ViaAny},
		"shared memory": {attach.EventOptions{Ring: ring}, attach.ViaLocal},
		"both":          {attach.EventOptions{Ring: ring}, attach.ViaBoth},
	} {
		var option *attach.OptionError
		if err := test.what.Validate(&attach.Options{Target: attach.Target{Via: test.via}}); !errors.As(err, &option) || option.Option != "Ring" {
			t.Errorf("%s: %v, want an error of Ring", name, err)
		}
	}
}
