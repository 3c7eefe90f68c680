package plan

import "encoding/binary"

// maxTemporary is how many bytes hold the instructions that build any value in Go's temporary register,
// four moves of 16 bits, and the one that uses it.
const maxTemporary = 4*4 + 4

// behindTemporary returns the length of the instructions at the beginning of code, of arm64, that only
// build a value in x27, the register that Go's assembler keeps for large constants and distant addresses.
// When the scheduler interrupts a goroutine among them or before the instruction that uses the value, the
// goroutine starts again at the first one: a probe there then fires twice, one at the use once. No other
// register has changed there (cmd/internal/obj/arm64/asm7.go: isRestartable; runtime/preempt.go:
// isAsyncSafePoint).
func behindTemporary(code []byte) int {
	size := 0
	for len(code) >= size+8 && buildsTemporary(binary.LittleEndian.Uint32(code[size:])) {
		size += 4
	}
	return size
}

// temporaries are the instructions that build a value in x27 or w27: their fixed bits, without the
// size of the register.
var temporaries = []struct{ mask, want uint32 }{
	{0x1f000000, 0x10000000}, // adr, adrp
	{0x1f800000, 0x12800000}, // movn, movz, movk
	{0x7f800000, 0x32000000}, // orr of a constant
	{0x7f800000, 0x11000000}, // add of a constant
	{0x7f800000, 0x51000000}, // sub of a constant
	{0xbf000000, 0x18000000}, // ldr from beside the instruction
	{0x7fe0f800, 0x1ac00800}, // sdiv, udiv
}

func buildsTemporary(in uint32) bool {
	if in&0x1f != 27 {
		return false
	}
	for _, t := range temporaries {
		if in&t.mask == t.want {
			return true
		}
	}
	return false
}
