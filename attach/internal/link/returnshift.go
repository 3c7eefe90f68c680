package link

import (
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/shield"
	"github.com/go-usdt/usdt/internal/kernel"
)

// ReturnShift returns what has to be added to the stack pointer that a program finds at the return
// from a function of the kernel for the one that it finds at the entry. It depends on how the kernel
// catches returns: by kretprobes, rethooks or the function graph, each with its own frame. It is
// measured at a system call of this process.
func (k Kind) ReturnShift() (int64, error) {
	if k == KernelPerf {
		return shiftOfEvents()
	}
	return shiftOfLinks()
}

var (
	shiftOfEvents = sync.OnceValues(func() (int64, error) { return measureShift(KernelPerf) })
	shiftOfLinks  = sync.OnceValues(func() (int64, error) { return measureShift(KernelMulti) })
)

// measured are names of the function of getppid, which no process of importance calls often.
var measured = []string{"__x64_sys_getppid", "__do_sys_getppid", "__arm64_sys_getppid"}

func measureShift(k Kind) (int64, error) {
	shift, err := tryShift(k)
	if err != nil {
		return 0, fmt.Errorf("measure where the kernel's returns have their stack: %w", err)
	}
	return shift, nil
}

func tryShift(k Kind) (int64, error) {
	address, err := measuredAddress()
	if err != nil {
		return 0, err
	}
	found, err := ebpf.NewMap(&ebpf.MapSpec{Name: "usdt_shift", Type: ebpf.Array, KeySize: 4, ValueSize: 16, MaxEntries: 1})
	if err != nil {
		return 0, err
	}
	defer found.Close()
	for i, returns := range []bool{false, true} {
		prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
			Type: ebpf.Kprobe, AttachType: k.AttachType(), License: kernel.License, Instructions: keepStack(found, int16(8*i)),
		})
		if err != nil {
			return 0, err
		}
		defer prog.Close()
		g := &Group{Path: "the kernel", Kernel: true, Returns: returns, Prog: prog, Sites: []Site{{Offset: address}}}
		var fds []int
		if k == KernelMulti {
			fd, err := kernelCalls{}.LinkKernel(g, []int{0})
			if err != nil {
				return 0, err
			}
			fds = append(fds, fd)
		} else {
			event, err := kernelCalls{}.OpenKprobe(g, &g.Sites[0])
			if err != nil {
				return 0, err
			}
			fds = append(fds, event)
			fd, err := kernelCalls{}.LinkEvent(g, event, 0)
			if err == nil {
				fds = append([]int{fd}, fds...)
			}
			if err != nil {
				return 0, errors.Join(err, shield.Close(event))
			}
		}
		defer func() {
			for _, fd := range fds {
				shield.Close(fd)
			}
		}()
	}
	var at [2]uint64
	for range maxTries {
		unix.Getppid()
		if err := found.Lookup(uint32(0), &at); err != nil {
			return 0, err
		}
		// Another task's call may have come between: its stack is elsewhere.
		if shift := int64(at[0] - at[1]); at[0] != 0 && at[1] != 0 && -maxShift < shift && shift < maxShift {
			return shift, nil
		}
	}
	return 0, fmt.Errorf("a call was not seen: entry %#x, return %#x", at[0], at[1])
}

const (
	maxTries = 100
	maxShift = 4096 // less than a stack, and more than a frame of the code that catches returns
)

// keepStack returns a program that stores the stack pointer in a map.
func keepStack(found *ebpf.Map, at int16) asm.Instructions {
	stack := int16(19 * 8) // struct pt_regs, arch/x86/include/asm/ptrace.h
	if runtime.GOARCH == "arm64" {
		stack = 31 * 8 // struct user_pt_regs, arch/arm64/include/uapi/asm/ptrace.h
	}
	return asm.Instructions{
		asm.LoadMapValue(asm.R2, found.FD(), 0),
		asm.LoadMem(asm.R3, asm.R1, stack, asm.DWord),
		asm.StoreMem(asm.R2, at, asm.R3, asm.DWord),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
	}
}
