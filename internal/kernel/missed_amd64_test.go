package kernel_test

import (
	"os"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/kernel"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestMissed attaches a program to page faults of the kernel that causes another one, so that the
// kernel has to leave it out.
func TestMissed(t *testing.T) {
	needs.Root(t)
	running, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 4, MaxEntries: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer running.Close()
	const nowhere = 8 // an address that no process has mapped
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.RawTracepoint, License: kernel.License, Instructions: asm.Instructions{
		asm.FnGetCurrentPidTgid.Call(),
		asm.RSh.Imm(asm.R0, 32),
		asm.JNE.Imm(asm.R0, int32(os.Getpid()), "exit"),
		asm.StoreImm(asm.R10, -4, 0, asm.Word),
		asm.LoadMapPtr(asm.R1, running.FD()),
		asm.Mov.Reg(asm.R2, asm.R10), asm.Add.Imm(asm.R2, -4),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "exit"),
		asm.Mov.Reg(asm.R6, asm.R0),
		asm.LoadMem(asm.R1, asm.R6, 0, asm.Word),
		asm.JNE.Imm(asm.R1, 0, "exit"), // a kernel without protection runs it again
		asm.StoreImm(asm.R6, 0, 1, asm.Word),
		asm.Mov.Reg(asm.R1, asm.R10), asm.Add.Imm(asm.R1, -16),
		asm.Mov.Imm(asm.R2, 8),
		asm.Mov.Imm(asm.R3, nowhere),
		asm.FnProbeReadUser.Call(),
		asm.StoreImm(asm.R6, 0, 0, asm.Word),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("exit"),
		asm.Return(),
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer prog.Close()
	if n, err := kernel.Missed(prog); n != 0 || err != nil {
		t.Errorf("%d missed before it was attached, error %v", n, err)
	}
	l, err := link.AttachRawTracepoint(link.RawTracepointOptions{Name: "page_fault_kernel", Program: prog})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const faults = 100
	for range faults {
		if _, _, errno := unix.Syscall(unix.SYS_UNAME, nowhere, 0, 0); errno != unix.EFAULT {
			t.Fatalf("uname: %v, want %v", errno, unix.EFAULT)
		}
	}
	if n, err := kernel.Missed(prog); n < faults || err != nil {
		t.Errorf("%d missed, error %v; want at least %d", n, err, faults)
	}
}
