package link

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"

	"github.com/go-usdt/usdt/attach/internal/shield"
	"github.com/go-usdt/usdt/internal/kernel"
	"github.com/go-usdt/usdt/internal/kernfunc"
)

// CallProgram returns the attach type of programs that run at the entry of a function and at its
// return, for links of kind k. The error wraps ebpf.ErrNotSupported if there are no such links.
func (k Kind) CallProgram() (ebpf.AttachType, error) {
	switch k {
	case Multi:
		return AttachSession, userCalls.Require()
	case KernelMulti:
		return ebpf.AttachTraceKprobeSession, kernelCallsOf.Require()
	}
	return 0, fmt.Errorf("links of kind %s at entries and returns: %w", k, ebpf.ErrNotSupported)
}

var (
	userCalls = kernel.Feature{Test: func() error {
		return tryCalls(AttachSession, func(prog *ebpf.Program) error {
			m := multi{path: "/", prog: prog, session: true, offsets: []uint64{1}, refCtrOffsets: []uint64{0}, cookies: []uint64{0}}
			fd, err := m.create()
			if err == nil {
				return shield.Close(fd)
			}
			if refusesProgram(prog, true) {
				return ebpf.ErrNotSupported
			}
			return nil // as it should: the path is no file
		})
	}}
	kernelCallsOf = kernel.Feature{Test: func() error {
		address, err := measuredAddress()
		if err != nil {
			return err
		}
		return tryCalls(ebpf.AttachTraceKprobeSession, func(prog *ebpf.Program) error {
			g := &Group{Path: "the kernel", Kernel: true, Session: true, Prog: prog, Sites: []Site{{Offset: address}}}
			fd, err := kernelCalls{}.LinkKernel(g, []int{0})
			if err != nil {
				return kernel.Refusal(err)
			}
			return shield.Close(fd)
		})
	}}
)

// tryCalls loads a program that calls all that the ones at entries and returns do, and attaches it.
func tryCalls(attachment ebpf.AttachType, attach func(*ebpf.Program) error) error {
	functions, err := kernel.FindCallFunctions()
	if err != nil {
		return err
	}
	code := asm.Instructions{asm.Mov.Reg(asm.R6, asm.R1)}
	for _, id := range []btf.TypeID{functions.IsReturn, functions.Cookie} {
		code = append(code, asm.Mov.Reg(asm.R1, asm.R6), kernel.CallFunction(id))
	}
	code = append(code, asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord), asm.Mov.Imm(asm.R0, 0), asm.Return())
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.Kprobe, AttachType: attachment, Instructions: code, License: kernel.License})
	if err != nil {
		if errors.As(err, new(*ebpf.VerifierError)) {
			return ebpf.ErrNotSupported // as kernels say of functions that such programs may not call
		}
		return kernel.Refusal(err)
	}
	defer prog.Close()
	return attach(prog)
}

// measuredAddress returns the address of a function of measured.
func measuredAddress() (uint64, error) {
	table, err := kernfunc.Load()
	if err != nil {
		return 0, err
	}
	for _, name := range measured {
		if f := table.Find(name); f != nil {
			return f.Address, nil
		}
	}
	return 0, errors.New("the kernel has no function of getppid that can be traced")
}
