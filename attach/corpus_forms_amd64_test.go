package attach_test

import (
	"bytes"
	"encoding/binary"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/internal/systest/bare"
)

var instructionSets = []*instructionSet{
	x86(bare.AMD64, mode64),
	x86(bare.I386, mode32),
}

// mode is that of x86 in which instructions are decoded.
type mode int

const (
	mode32 mode = 32
	mode64 mode = 64
)

func x86(m *bare.Machine, bits mode) *instructionSet {
	return &instructionSet{machine: m, forms: bits.corpus, random: bits.randomForms, begin: func(p *bare.Process) { bits.begin(m, p) }}
}

// at returns the code of piece i of a program; the displacement leads to memory.
func (f form) at(i int) []byte {
	code := slices.Clone(f.code)
	to := uint32(bare.DataAt + 0x800)
	if !f.absolute { // of %rip
		to -= uint32(bare.At(i)) + uint32(len(code))
	}
	if f.operand > 0 {
		binary.LittleEndian.PutUint32(code[f.operand:], to)
	}
	return code
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

// encoder yields instructions of one mode.
type encoder struct {
	mode
	share   int
	yield   func(form) bool
	stopped bool
}

// corpus yields one in share of the instructions of x86 in all encodings: prefixes,
// opcodes, operands. Most are none, which processors find out.
func (m mode) corpus(share int, yield func(form) bool) {
	e := &encoder{mode: m, share: share, yield: yield}
	e.legacyForms()
	e.vectorForms()
}

// legacyForms yields instructions without VEX and its like.
func (e *encoder) legacyForms() {
	prefixes := []string{
		"", "\x66", "\xf2", "\xf3", "\x67", "\x64", "\x40", "\x41", "\x42", "\x44", "\x48", "\x49", "\x4c", "\x4f",
		"\x66\x48", "\x66\x41", "\xf2\x48", "\xf3\x48", "\xf3\x4c", "\x66\xf2", "\x67\x66", "\x48\x66", "\x41\x48", "\x64\x66\x67\xf2\xf3",
		"\x26", "\x2e", "\x36", "\x3e", "\x65", "\xf0", "\xf0\x48", "\x66\x66", "\x66\x66\x66\x66\x66\x66", "\x66\x2e", "\xf3\xf3", "\x67\x48", "\xf2\xf3",
	}
	for _, prefix := range prefixes {
		if e.mode == mode32 && strings.ContainsAny(prefix, rex) {
			continue
		}
		for space, escape := range []string{"", "\x0f", "\x0f\x38", "\x0f\x3a"} {
			for op := range 256 {
				if space == 0 && e.isPrefix(op) || space == 1 && (op == 0x38 || op == 0x3a) {
					continue
				}
				head := append([]byte(prefix+escape), byte(op))
				wide := slices.Contains([]byte(prefix), 0x66) && !slices.Contains([]byte(prefix), 0x48)
				e.forms(head, len(head)-1, e.hasModRM(space, op), func(reg int) int { return e.immediate(space, op, reg, wide, prefix) })
			}
		}
	}
}

// vectorForms yields instructions with VEX, EVEX and REX2.
func (e *encoder) vectorForms() {
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
					e.forms([]byte{0xc5, byte(0x80 | vvvv<<3 | long<<2 | pp), byte(op)}, 2, op != 0x77, imm(1))
					for space := 1; space <= 3; space++ {
						for _, w := range []int{0, 0x80} {
							for _, rxb := range []int{0xe0, 0x40} {
								e.forms([]byte{0xc4, byte(rxb | space), byte(w | vvvv<<3 | long<<2 | pp), byte(op)}, 3, space != 1 || op != 0x77, imm(space))
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
							e.forms([]byte{0x62, byte(0xf0 | space), byte(w | vvvv<<3 | 4 | pp), last, byte(op)}, 4, true, imm(space))
						}
					}
				}
			}
		}
		e.forms([]byte{0xd5, 0x08, byte(op)}, 2, e.hasModRM(0, op), func(int) int { return 0 })
		e.forms([]byte{0x8f, 0xe8, 0x78, byte(op)}, 3, true, func(int) int { return 1 })
		e.forms([]byte{0x62, 0xf4, 0x7c, 0x08, byte(op)}, 4, true, func(int) int { return 0 })
	}
}

// forms yields an instruction with some of its operands.
func (e *encoder) forms(head []byte, opcode int, modRM bool, immediate func(reg int) int) {
	h := fnv.New32a()
	h.Write(head)
	h.Write([]byte{byte(e.mode)})
	base := h.Sum32()
	add := func(reg, n int) {
		hash := (base ^ uint32(reg*len(operands)+n+1)) * 0x9e3779b1
		hash = (hash ^ hash>>15) * 0x85ebca6b
		hash ^= hash >> 13
		if e.stopped || hash%uint32(e.share) != uint32(*corpusPart) {
			return
		}
		f := form{code: slices.Clone(head), hash: hash / uint32(e.share), absolute: e.mode == mode32}
		if modRM {
			f.code = append(f.code, operands[n]...)
			f.code[len(head)] |= byte(reg << 3)
			if operands[n][0] == 0x05 {
				f.operand = len(head) + 1
			}
		}
		for i := range immediate(reg) {
			f.code = append(f.code, []byte{0x20, 0}[min(i, 1)])
		}
		f.decoded = decoded(head, reg)
		if len(f.code) <= 15 && !excluded(f.code[max(opcode-1, 0):]) {
			e.stopped = !e.yield(f)
		}
	}
	if e.mode == mode32 && len(head) > 2 && strings.IndexByte("\x62\xc4\xc5", head[0]) >= 0 && head[1] < 0xc0 {
		return // bound, les and lds, which are among those without VEX
	}
	if !modRM {
		for n := range bare.Variants {
			add(0, n)
		}
		return
	}
	for reg := range 8 {
		for n := range operands {
			add(reg, n)
		}
	}
}

// decoded returns by what the kernel's decoder looks up an instruction that it may not know:
// encoding, map, the prefix that selects an instruction, opcode, and operation of a group.
func decoded(head []byte, reg int) string {
	n := len(head)
	op := head[n-1]
	switch {
	case n == 3 && head[0] == 0xc5:
		return string([]byte{0xc4, 1, head[1] & 3, op, byte(reg)})
	case n == 4 && head[0] == 0xc4:
		return string([]byte{0xc4, head[1] & 0x1f, head[2] & 3, op, byte(reg)})
	case n == 5 && head[0] == 0x62:
		return string([]byte{0x62, head[1] & 7, head[2] & 0x83, op, byte(reg)})
	}
	// Some opcodes are instructions with a vector prefix only.
	before, after, ok := bytes.Cut(head, []byte{0x0f})
	i := max(bytes.LastIndexByte(before, 0x66), bytes.LastIndexByte(before, 0xf2), bytes.LastIndexByte(before, 0xf3))
	if !ok {
		return ""
	}
	prefix := byte(0)
	if i >= 0 {
		prefix = before[i]
	}
	return string(append([]byte{0x0f, prefix}, after...))
}

// excluded reports whether an instruction must not be executed, from the byte before the
// opcode on: it would wait, or call the hypervisor.
func excluded(code []byte) bool {
	if len(code) < 3 || code[0] != 0x0f {
		return false
	}
	switch code[1] {
	case 0x01:
		return code[2] == 0xc1 || code[2] == 0xd9 || code[2] >= 0xf8
	case 0xae:
		return code[2] >= 0xf0 && code[2] <= 0xf7
	}
	return false
}

func (m mode) isPrefix(op int) bool {
	switch op {
	case 0x62, 0xc4, 0xc5, 0xd5:
		return m == mode64
	case 0x0f, 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3:
		return true
	}
	return m == mode64 && op&0xf0 == 0x40
}

// rex are REX prefixes.
const rex = "\x40\x41\x42\x44\x48\x49\x4c\x4f"

// hasModRM says whether a ModRM byte follows an opcode (Intel SDM, volume 2, A.3).
func (m mode) hasModRM(space, op int) bool {
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
	case m == mode32 && (op == 0x62 || op == 0xc4 || op == 0xc5): // bound, les, lds
		return true
	case op == 0x63, op == 0x69, op == 0x6b, op >= 0x80 && op <= 0x8f, op == 0xc0, op == 0xc1, op == 0xc6, op == 0xc7,
		op >= 0xd0 && op <= 0xd3, op >= 0xd8 && op <= 0xdf, op == 0xf6, op == 0xf7, op == 0xfe, op == 0xff:
		return true
	}
	return false
}

// immediate returns the size in bytes of an opcode's immediate operand.
func (m mode) immediate(space, op, reg int, wide bool, prefix string) int {
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
	case m == mode32 && (op == 0x9a || op == 0xea): // far
		return word + 2
	case m == mode32 && op >= 0xa0 && op <= 0xa3:
		return 4
	case m == mode32 && (op == 0xd4 || op == 0xd5):
		return 1
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
