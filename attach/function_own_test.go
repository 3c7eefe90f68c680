package attach_test

import (
	"errors"
	"os/exec"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/features"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/reader"
)

// TestOwnProgramOnFunctions attaches a program of the caller's to the entry of
// a function and to the return from it.
func TestOwnProgramOnFunctions(t *testing.T) {
	path := build(t, "functions.c", "gcc", "-O2")
	f, err := reader.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var probes []reader.Probe
	for fn, err := range f.Functions() {
		if err != nil {
			t.Fatal(err)
		}
		if fn.Name() == "factorial" {
			probes = append(probes, fn.Entry(), fn.Return())
		}
	}
	counts, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 2})
	if err != nil {
		needs.Skip(t, "%v", err)
	}
	defer counts.Close()
	typ := ebpf.AttachTraceUprobeMulti
	if err := features.HaveBPFLinkUprobeMulti(); errors.Is(err, ebpf.ErrNotSupported) {
		typ = ebpf.AttachNone
	}
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.Kprobe, AttachType: typ, License: "MIT",
		Instructions: asm.Instructions{ // counts[cookie - 100]++
			asm.FnGetAttachCookie.Call(),
			asm.Sub.Imm(asm.R0, 100),
			asm.StoreMem(asm.R10, -4, asm.R0, asm.Word),
			asm.LoadMapPtr(asm.R1, counts.FD()),
			asm.Mov.Reg(asm.R2, asm.R10), asm.Add.Imm(asm.R2, -4),
			asm.FnMapLookupElem.Call(),
			asm.JEq.Imm(asm.R0, 0, "exit"),
			asm.Mov.Imm(asm.R1, 1),
			asm.StoreXAdd(asm.R0, asm.R1, asm.DWord),
			asm.Mov.Imm(asm.R0, 0).WithSymbol("exit"),
			asm.Return(),
		},
	})
	if err != nil {
		needs.Skip(t, "%v", err)
	}
	defer prog.Close()
	a, err := attach.AttachProbes(prog, probes, &attach.ProgramOptions{Cookies: []uint64{100, 101}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	p := start(t, exec.Command(path))
	p.Do("")
	var got [2]uint64
	for i := range got {
		if err := counts.Lookup(uint32(i), &got[i]); err != nil {
			t.Fatal(err)
		}
	}
	if got != [2]uint64{5, 5} {
		t.Errorf("%d entries and %d returns, want 5 of each", got[0], got[1])
	}
}
