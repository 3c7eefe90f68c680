package attach_test

import (
	"encoding/binary"
	"hash/fnv"
	"slices"

	"github.com/go-usdt/usdt/internal/systest/bare"
)

// form is an instruction of the corpus.
type form struct {
	code   []byte
	rip    int // where the displacement from %rip is in code, 0 if there is none
	opcode int // where the opcode is
}

// at returns the code of piece i of a program; %rip leads to the program's memory.
func (f form) at(i int) []byte {
	code := slices.Clone(f.code)
	if f.rip > 0 {
		binary.LittleEndian.PutUint32(code[f.rip:], uint32(bare.DataAt+0x800-bare.At(i)-uint64(len(code))))
	}
	return code
}

func (f form) hash() uint32 {
	h := fnv.New32a()
	h.Write(f.code)
	return h.Sum32()
}

// operands are ModRM bytes without the field reg, and what follows them. Registers that
// lead to memory are those of [beginning].
var operands = [][]byte{
	{0xc1}, {0xc6}, {0xc2}, // registers; endbr64
	{0x07},                // (%rdi)
	{0x43, 0x10},          // 16(%rbx)
	{0x86, 0x40, 0, 0, 0}, // 64(%rsi)
	{0x04, 0x24},          // (%rsp)
	{0x44, 0x4d, 0x08},    // 8(%rbp,%rcx,2)
	{0x05, 0, 0, 0, 0},    // of %rip
}

// corpus yields the instructions of x86-64 in all encodings: prefixes, opcodes, operands.
// Most are none, which processors find out.
func corpus(yield func(form) bool) {
	legacyForms(yield)
	vectorForms(yield)
}

// legacyForms yields instructions without VEX and its like.
func legacyForms(yield func(form) bool) {
	prefixes := []string{
		"", "\x66", "\xf2", "\xf3", "\x67", "\x64", "\x40", "\x41", "\x42", "\x44", "\x48", "\x49", "\x4c", "\x4f",
		"\x66\x48", "\x66\x41", "\xf2\x48", "\xf3\x48", "\xf3\x4c", "\x66\xf2", "\x67\x66", "\x48\x66", "\x41\x48", "\x64\x66\x67\xf2\xf3",
		"\x26", "\x2e", "\x36", "\x3e", "\x65", "\xf0", "\xf0\x48", "\x66\x66", "\x66\x66\x66\x66\x66\x66", "\x66\x2e", "\xf3\xf3", "\x67\x48", "\xf2\xf3",
	}
	for _, prefix := range prefixes {
		for space, escape := range []string{"", "\x0f", "\x0f\x38", "\x0f\x3a"} {
			for op := range 256 {
				if space == 0 && isPrefix(op) || space == 1 && (op == 0x38 || op == 0x3a) {
					continue
				}
				head := append([]byte(prefix+escape), byte(op))
				wide := slices.Contains([]byte(prefix), 0x66) && !slices.Contains([]byte(prefix), 0x48)
				forms(head, len(head)-1, hasModRM(space, op), func(reg int) int { return immediate(space, op, reg, wide, prefix) }, yield)
			}
		}
	}
}

// vectorForms yields instructions with VEX, EVEX and REX2.
func vectorForms(yield func(form) bool) {
	for op := range 256 {
		imm := func(space int) func(int) int {
			return func(int) int {
				if space == 3 || space == 1 && (op >= 0x70 && op <= 0x73 || op == 0xc2 || op >= 0xc4 && op <= 0xc6) {
					return 1
				}
				return 0
			}
		}
		for pp := range 4 {
			for _, vvvv := range []int{15, 9, 8, 1} { // inverted: none, %rsi, %rdi, %r14
				for long := range 2 {
					forms([]byte{0xc5, byte(0x80 | vvvv<<3 | long<<2 | pp), byte(op)}, 2, op != 0x77, imm(1), yield)
					for space := 1; space <= 3; space++ {
						for _, w := range []int{0, 0x80} {
							for _, rxb := range []int{0xe0, 0x40} {
								forms([]byte{0xc4, byte(rxb | space), byte(w | vvvv<<3 | long<<2 | pp), byte(op)}, 3, space != 1 || op != 0x77, imm(space), yield)
							}
						}
					}
				}
				if vvvv == 8 {
					continue
				}
				for _, space := range []int{1, 2, 3, 5, 6} {
					for _, w := range []int{0, 0x80} {
						for _, last := range []byte{0x08, 0x28, 0x48, 0x0a, 0xca, 0x58} { // lengths, masks, zeroing, broadcast or rounding
							forms([]byte{0x62, byte(0xf0 | space), byte(w | vvvv<<3 | 4 | pp), last, byte(op)}, 4, true, imm(space), yield)
						}
					}
				}
			}
		}
		forms([]byte{0xd5, 0x08, byte(op)}, 2, hasModRM(0, op), func(int) int { return 0 }, yield)
		forms([]byte{0x8f, 0xe8, 0x78, byte(op)}, 3, true, func(int) int { return 1 }, yield)
		forms([]byte{0x62, 0xf4, 0x7c, 0x08, byte(op)}, 4, true, func(int) int { return 0 }, yield)
	}
}

// forms yields an instruction with each of its operands.
func forms(head []byte, opcode int, modRM bool, immediate func(reg int) int, yield func(form) bool) {
	add := func(code []byte, rip, reg int) bool {
		for i := range immediate(reg) {
			b := byte(0)
			if i == 0 {
				b = 0x20
			}
			code = append(code, b)
		}
		return len(code) > 15 || yield(form{code: code, rip: rip, opcode: opcode})
	}
	if !modRM {
		add(slices.Clone(head), 0, 0)
		return
	}
	for reg := range 8 {
		for _, operand := range operands {
			code := slices.Concat(head, operand)
			code[len(head)] |= byte(reg << 3)
			rip := 0
			if operand[0] == 0x05 {
				rip = len(head) + 1
			}
			if !add(code, rip, reg) {
				return
			}
		}
	}
}

func isPrefix(op int) bool {
	switch op {
	case 0x0f, 0x26, 0x2e, 0x36, 0x3e, 0x62, 0x64, 0x65, 0x66, 0x67, 0xc4, 0xc5, 0xd5, 0xf0, 0xf2, 0xf3:
		return true
	}
	return op&0xf0 == 0x40
}

// hasModRM says whether a ModRM byte follows an opcode (Intel SDM, volume 2, A.3).
func hasModRM(space, op int) bool {
	switch {
	case space > 1:
		return true
	case space == 1:
		return !(op >= 0x05 && op <= 0x09 || op == 0x0b || op == 0x0e || op >= 0x30 && op <= 0x37 || op == 0x77 ||
			op >= 0x80 && op <= 0x8f || op >= 0xa0 && op <= 0xa2 || op >= 0xa8 && op <= 0xaa || op >= 0xc8 && op <= 0xcf)
	case op < 0x40:
		return op&7 < 4
	}
	switch {
	case op == 0x63, op == 0x69, op == 0x6b, op >= 0x80 && op <= 0x8f, op == 0xc0, op == 0xc1, op == 0xc6, op == 0xc7,
		op >= 0xd0 && op <= 0xd3, op >= 0xd8 && op <= 0xdf, op == 0xf6, op == 0xf7, op == 0xfe, op == 0xff:
		return true
	}
	return false
}

// immediate returns the size in bytes of an opcode's immediate operand.
func immediate(space, op, reg int, wide bool, prefix string) int {
	word := 4
	if wide {
		word = 2
	}
	switch space {
	case 1:
		switch {
		case op >= 0x80 && op <= 0x8f:
			return word
		case op >= 0x70 && op <= 0x73, op == 0xa4, op == 0xac, op == 0xba, op == 0xc2, op >= 0xc4 && op <= 0xc6, op == 0x0f:
			return 1
		}
		return 0
	case 2:
		return 0
	case 3:
		return 1
	}
	switch {
	case op < 0x40 && op&7 == 4, op == 0x6a, op == 0x6b, op >= 0x70 && op <= 0x7f, op == 0x80, op == 0x83, op == 0xa8,
		op >= 0xb0 && op <= 0xb7, op == 0xc0, op == 0xc1, op == 0xc6, op == 0xcd, op >= 0xe0 && op <= 0xe7, op == 0xeb, op == 0xf6 && reg < 2:
		return 1
	case op >= 0xb8 && op <= 0xbf && slices.ContainsFunc([]byte(prefix), func(c byte) bool { return c&0xf8 == 0x48 }):
		return 8
	case op < 0x40 && op&7 == 5, op == 0x68, op == 0x69, op == 0x81, op == 0xa9, op >= 0xb8 && op <= 0xbf, op == 0xc7, op == 0xe8, op == 0xe9, op == 0xf7 && reg < 2:
		return word
	case op == 0xc2, op == 0xca:
		return 2
	case op == 0xc8:
		return 3
	case op >= 0xa0 && op <= 0xa3:
		return 8
	}
	return 0
}
