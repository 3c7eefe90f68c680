package plan

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
)

// literal refuses loads of vector registers from beside the instruction on arm64. The
// kernel knows only those of general registers for what they are
// (arch/arm64/include/asm/insn.h: ldr_lit), and executes a copy of these elsewhere,
// which loads what is beside the copy.
func (pl *Planner) literal(s *site) {
	if s.probe.Machine != elf.EM_AARCH64 {
		return
	}
	code := s.object.BytesAt(s.Offset, 4)
	if len(code) == 4 && binary.LittleEndian.Uint32(code)&0x3f000000 == 0x1c000000 { // ldr (literal, SIMD&FP)
		s.Reason = fmt.Errorf("the kernel would load the vector register from beside its copy of the instruction: %w", ErrUnsafe)
	}
}
