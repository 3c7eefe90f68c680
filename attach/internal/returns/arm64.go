package returns

import "encoding/binary"

var arm64Machine = machine{
	read:  readARM64,
	skips: func([]byte, int) bool { return false },
	data:  literal,
}

// Arm Architecture Reference Manual, C4.1: branches, exception generating and system instructions.
func readARM64(f *Function, code []byte, addr uint64, before [][]byte) insn {
	if len(code) < 4 {
		return insn{}
	}
	word := binary.LittleEndian.Uint32(code)
	in := insn{kind: plain, size: 4}
	// to returns the target of a jump, whose signed distance is in the word from a bit on.
	to := func(from, bits int) uint64 {
		return addr + uint64(int64(int32(word<<(32-from-bits))>>(32-bits))*4)
	}
	switch {
	case word&0xfc000000 == 0x14000000: // b
		in.kind, in.target = jump, to(0, 26)
	case word&0xff000000 == 0x54000000, word&0x7e000000 == 0x34000000: // b.cond, cbz, cbnz
		in.kind, in.target = branch, to(5, 19)
	case word&0x7e000000 == 0x36000000: // tbz, tbnz
		in.kind, in.target = branch, to(5, 14)
	case word == 0xd65f03c0: // ret
		in.kind = ret
	case word&0xfe1f0000 == 0xd61f0000: // by a register
		switch word >> 21 & 7 {
		case 0: // br
			if in.kind = tail; f.addedBefore(word>>5&31, before) {
				in.kind = table
			}
		case 1: // blr
			in.kind = call
		default: // ret by another register, retaa, retab, eret
			in.kind = oddRet
		}
	case word&0xfc000000 == 0x94000000: // bl
		in.kind = call
	case word&0xffff0000 == 0, word&0xffe0001f == 0xd4200000: // udf, brk
		in.kind = end
	case word == 0xd503201f:
		in.kind = idle
	}
	return in
}

// addedBefore reports whether a register was made from a table of distances, by an addition, or
// in Go by a load from a table of addresses.
func (f *Function) addedBefore(register uint32, before [][]byte) bool {
	for _, code := range before {
		word := binary.LittleEndian.Uint32(code)
		added := word&0x7fc00000 == 0x0b000000 || word&0x7fe00000 == 0x0b200000 // add of a register
		loaded := word&0xffe0fc00 == 0xf8607800                                 // ldr x, [x, x, lsl #3]
		if word&31 == register && (added || loaded && f.Compiled) {
			return true
		}
	}
	return false
}

// literal returns the number that a load relative to the instruction reads.
func literal(code []byte, addr uint64) (at uint64, size int) {
	word := binary.LittleEndian.Uint32(code)
	if word&0x3b000000 != 0x18000000 {
		return 0, 0
	}
	size = 4
	switch word >> 30 {
	case 1:
		size = 8
	case 2:
		if word&0x04000000 != 0 {
			size = 16
		}
	case 3:
		return 0, 0 // prfm
	}
	return addr + uint64(int64(int32(word<<8)>>13)*4), size
}
