package symbols

import (
	"debug/elf"
	"io"

	"github.com/go-usdt/usdt/symbols/internal/cfi"
)

// A signal handler returns to the restorer, which calls sigreturn: __restore_rt of the C
// library, musl's of the same name, runtime.sigreturn__sigaction of Go. No call is in
// front of it, often no symbol covers it, and musl has no call frames for it. So it is
// known by its code, as in libgcc (MD_FALLBACK_FRAME_STATE_FOR) and gdb.

// restorerName is how C libraries call it, which do not all export it.
const restorerName = "__restore_rt"

// maxRestorers is the number of addresses of an object of which that is remembered.
const maxRestorers = 1 << 14

// restorerCode returns the instructions of restorers.
func restorerCode(m elf.Machine) string {
	switch m {
	case elf.EM_X86_64:
		return "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05" // mov $SYS_rt_sigreturn, %rax; syscall
	case elf.EM_AARCH64:
		return "\x68\x11\x80\xd2\x01\x00\x00\xd4" // mov x8, #SYS_rt_sigreturn; svc #0
	}
	return ""
}

// isRestorer reports whether the code at an address of the file is a restorer.
func (o *object) isRestorer(addr uint64) bool {
	o.mu.Lock()
	is, known := o.restorers[addr]
	o.mu.Unlock()
	if known {
		return is
	}
	is = o.hasCode(addr, restorerCode(o.elf.Machine))
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.restorers == nil || len(o.restorers) >= maxRestorers {
		o.restorers = map[uint64]bool{}
	}
	o.restorers[addr] = is
	return is
}

// hasCode reports whether the file has these instructions at an address.
func (o *object) hasCode(addr uint64, code string) bool {
	for i := range o.loads {
		p := &o.loads[i]
		if off := addr - p.Vaddr; off < p.Filesz && p.Flags&elf.PF_X != 0 && !o.debugOnly && code != "" {
			b := make([]byte, len(code))
			_, err := o.elf.ReadAt(b, int64(p.Off+off))
			return (err == nil || err == io.EOF) && string(b) == code
		}
	}
	return false
}

// bySignalFrame goes to the function that a signal interrupted: when the handler has
// returned, the stack pointer is that of a struct rt_sigframe of the kernel, behind its
// return address (arch/x86/include/asm/sigframe.h, arch/arm64/kernel/signal.c).
func (u *unwinder) bySignalFrame() bool {
	sp := u.regs[u.machine.SP]
	if u.machine == cfi.ARM64 {
		const regs = 128 + 176 + 8 // siginfo; up to uc_mcontext; fault_address
		return u.restore(sp+regs, func(i int) (int, bool) {
			if i == 32 { // pc, behind x0 to x30 and sp
				return cfi.PC, true
			}
			return i, i < 32
		})
	}
	const gregs = 40 // uc_mcontext
	return u.restore(sp+gregs, func(i int) (int, bool) {
		if i < len(gregs64) {
			return int(gregs64[i]), true
		}
		return cfi.PC, i == len(gregs64)
	})
}

// gregs64 are the registers of struct sigcontext of x86-64 in its order, by DWARF's
// numbers: r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp; rip follows.
var gregs64 = [...]uint8{8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7}

// restore reads registers that are one behind the other at addr. which says which
// register is at place i, if one is.
func (u *unwinder) restore(addr uint64, which func(i int) (int, bool)) bool {
	out := u.regs
	for i := 0; ; i++ {
		reg, more := which(i)
		if !more {
			break
		}
		v, ok := u.stack.Word(addr + 8*uint64(i))
		if !ok {
			return false
		}
		out[reg] = v
	}
	u.regs = out
	return true
}
