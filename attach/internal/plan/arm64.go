package plan

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
)

// maxExclusive is how many instructions an exclusive load and its store lie apart at
// most, as for kprobes (arch/arm64/kernel/probes/decode-insn.c: MAX_ATOMIC_CONTEXT_SIZE).
const maxExclusive = 32

// arm64 refuses instructions of arm64 that the kernel executes wrongly. It does not know a
// load of a vector register from beside the instruction for what it is
// (arch/arm64/include/asm/insn.h: ldr_lit). Those of general registers it refuses since
// Linux 6.12; before, it read the program's memory as its own
// (arch/arm64/kernel/probes/simulate-insn.c: simulate_ldr_literal).
func (pl *Planner) arm64(s *site) {
	if s.probe.Machine != elf.EM_AARCH64 {
		return
	}
	before := min(s.Offset/4, maxExclusive)
	if s.probe.Target != nil {
		before = min(before, s.probe.Displacement()/4)
	}
	code := s.object.BytesAt(s.Offset-4*before, int(4*before+4))
	if len(code) < int(4*before+4) {
		return
	}
	at := binary.LittleEndian.Uint32(code[4*before:])
	switch {
	case isExclusive(at):
		s.Reason = errors.New("the kernel cannot probe an exclusive load or store")
	case at&0x3f000000 == 0x1c000000: // ldr (literal, SIMD&FP)
		s.Reason = fmt.Errorf("the kernel would load the vector register from beside its copy of the instruction: %w", ErrUnsafe)
	case at&0x3f000000 == 0x18000000: // ldr, ldrsw, prfm (literal)
		s.Reason = fmt.Errorf("kernels before Linux 6.12 may crash at a load from beside the instruction, and others refuse it: %w", ErrUnsafe)
	case behindExclusive(code[:4*before]):
		s.Reason = fmt.Errorf("the site is behind an exclusive load, whose store would fail each time: %w", ErrUnsafe)
	}
}

// behindExclusive reports whether an exclusive load comes last in code, before its store:
// a breakpoint behind it makes the store fail each time, so that a loop around them never
// ends. The kernel looks for that at kprobes alone (decode-insn.c:
// is_probed_address_atomic).
func behindExclusive(code []byte) bool {
	for ; len(code) >= 4; code = code[:len(code)-4] {
		in := binary.LittleEndian.Uint32(code[len(code)-4:])
		switch {
		case isExclusive(in):
			return in&0x00400000 != 0 // a load
		case in&0xfffff0ff == 0xd503305f, in&0xfc000000 == 0x14000000, in&0xfffffc1f == 0xd65f0000: // clrex, b, ret
			return false
		}
	}
	return false
}

// isExclusive reports whether the kernel takes an instruction for an exclusive load or store
// (arch/arm64/include/asm/insn.h: exclusive).
func isExclusive(in uint32) bool { return in&0x3f800000 == 0x08000000 }
