package x86

// vexSize returns the size in bytes of an x86 instruction with a VEX, EVEX or XOP
// prefix, 0 if it is cut off. ok reports whether code begins with such a prefix.
// x86asm does not know all of these instructions (Intel SDM, volume 2, 2.3 and 2.7;
// AMD64 APM, volume 3, 1.2.2).
func vexSize(code []byte, is64 bool) (size int, ok bool) {
	i := 0
	for i < len(code) && (code[i] == 0x64 || code[i] == 0x65 || code[i] == 0x67 && is64) { // %fs, %gs, addr32
		i++
	}
	if len(code) < i+2 || !is64 && code[i+1] < 0xc0 { // les, lds, bound of 32 bits
		return 0, false
	}
	const xop = 8 // the first of its maps
	var space byte
	switch second := code[i+1] & 0x1f; code[i] {
	case 0xc5:
		space, i = 1, i+2
	case 0xc4:
		space, i = second, i+3
	case 0x62:
		space, i = second&7, i+4
	case 0x8f:
		if second < xop { // pop
			return 0, false
		}
		space, i = second, i+3
	default:
		return 0, false
	}
	if len(code) < i+1 {
		return 0, true
	}
	opcode := code[i]
	i++
	if space == 1 && opcode == 0x77 { // vzeroupper, vzeroall: no operands
		return i, true
	}
	if len(code) == i {
		return 0, true
	}
	i += modRMSize(code[i:])
	switch {
	case space == 3, space == xop,
		space == 1 && (opcode >= 0x70 && opcode <= 0x73 || opcode == 0xc2 || opcode >= 0xc4 && opcode <= 0xc6):
		i++ // an immediate byte
	case space == xop+2:
		i += 4
	}
	if i > len(code) {
		return 0, true
	}
	return i, true
}

// modRMSize returns the number of bytes that a ModRM byte, SIB byte and displacement
// take (Intel SDM, volume 2, 2.1.5, with 32-bit and 64-bit addresses).
func modRMSize(code []byte) int {
	mod, rm := code[0]>>6, code[0]&7
	size := 1
	if mod == 3 {
		return size
	}
	base := rm
	if rm == 4 {
		size++
		if len(code) < 2 {
			return size
		}
		base = code[1] & 7
	}
	switch {
	case mod == 1:
		size++
	case mod == 2, base == 5: // with mod 0 a displacement takes the place of %rbp
		size += 4
	}
	return size
}
