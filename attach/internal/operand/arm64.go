package operand

import "strconv"

// Offsets in struct user_pt_regs, arch/arm64/include/uapi/asm/ptrace.h.
const (
	arm64SP = 8 * 31
	arm64PC = 8 * 32
)

var arm64Registers = newARM64Registers()

func newARM64Registers() *Registers {
	r := &Registers{ByName: map[string]int16{"sp": arm64SP, "pc": arm64PC}, IP: arm64PC, Argument: Location{Size: 8}}
	for i := range int16(31) {
		r.ByName["x"+strconv.Itoa(int(i))] = 8 * i
		r.byDWARF = append(r.byDWARF, 8*i)
	}
	r.slots = r.byDWARF[:8:8]
	// DWARF for the Arm 64-bit architecture, 4.1: 31 is SP, 32 is PC.
	r.byDWARF = append(r.byDWARF, arm64SP, arm64PC)
	return r
}
