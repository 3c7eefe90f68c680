package returns

import (
	"debug/elf"
	"encoding/binary"

	"github.com/go-usdt/usdt/internal/x86"
)

var x86Machine = machine{
	read:  readX86,
	skips: func(code []byte, n int) bool { return n == 1 && code[0] == 0xf0 }, // lock, where one thread needs none
	data:  func([]byte, uint64) (at uint64, size int) { return 0, 0 },
}

const longest = 15 // bytes of an instruction

// operation is the opcode of an instruction of one byte, or behind 0f, and its ModRM byte.
type operation struct {
	two, short    bool // behind 0f; with operands of 16 bits
	opcode, modRM byte
	sib           byte
	rex           byte
	at            int // of the ModRM byte
}

// operationOf reads what is behind the prefixes of an instruction, which is no vector instruction.
func operationOf(code []byte, is64 bool) (op operation) {
	i := 0
	for ; i < len(code); i++ {
		switch c := code[i]; {
		case c == 0x66:
			op.short = true
			continue
		case c == 0x26, c == 0x2e, c == 0x36, c == 0x3e, c == 0x64, c == 0x65, c == 0x67, c == 0xf0, c == 0xf2, c == 0xf3:
			continue
		case is64 && c&0xf0 == 0x40:
			op.rex = c
			continue
		}
		break
	}
	byteAt := func(i int) byte {
		if i < len(code) {
			return code[i]
		}
		return 0
	}
	if op.two = byteAt(i) == 0x0f; op.two {
		i++
	}
	op.opcode, op.modRM, op.sib, op.at = byteAt(i), byteAt(i+1), byteAt(i+2), i+1
	return op
}

func (op *operation) mod() byte { return op.modRM >> 6 }
func (op *operation) reg() byte { return op.modRM>>3&7 | op.rex&4<<1 }
func (op *operation) rm() byte  { return op.modRM&7 | op.rex&1<<3 }

// indexed reports whether the operand is in memory, at an address with an index.
func (op *operation) indexed() bool {
	return op.mod() != 3 && op.modRM&7 == 4 && (op.sib&0x38 != 0x20 || op.rex&2 != 0)
}

func readX86(f *Function, code []byte, addr uint64, before [][]byte) insn {
	is64 := f.Class == elf.ELFCLASS64
	code = code[:min(len(code), longest)]
	size := x86.Size(code, is64)
	if size == 0 {
		return insn{}
	}
	in := insn{kind: plain, size: size}
	if code = code[:size]; x86.IsVector(code, is64) {
		return in
	}
	op := operationOf(code, is64)
	near := func() uint64 {
		return addr + uint64(size) + uint64(int64(int32(binary.LittleEndian.Uint32(code[size-4:]))))
	}
	short := func() uint64 { return addr + uint64(size) + uint64(int64(int8(code[size-1]))) }
	switch c := op.opcode; {
	case op.two && c&0xf0 == 0x80:
		in.kind = branch
		if op.short || size < 6 {
			return insn{}
		}
		in.target = near()
	case op.two && (c == 0x0b || c == 0xb9 || c == 0xff): // ud2, ud1, ud0
		in.kind = end
	case op.two && c == 0x1f:
		in.kind = idle
	case op.two:
	case c == 0xc3, c == 0xc2:
		in.kind = ret
	case c == 0xca, c == 0xcb, c == 0xcf: // far returns, iret
		in.kind = oddRet
	case c == 0xe9 && (op.short || size < 5):
		return insn{}
	case c == 0xe9:
		in.kind, in.target = jump, near()
	case c == 0xeb:
		in.kind, in.target = jump, short()
	case c&0xf0 == 0x70, c >= 0xe0 && c <= 0xe3: // loop, jcxz
		in.kind, in.target = branch, short()
	case c == 0xcc, c == 0xf4: // int3, hlt
		in.kind = end
	case c == 0x90:
		in.kind = idle
	case c == 0xe8, c == 0xff && op.modRM&0x38 == 0x10:
		in.kind = call
	case c == 0xff && op.modRM&0x38 == 0x20:
		if in.kind = tail; f.throughTable(&op, code, before, is64) {
			in.kind = table
		}
	case c == 0xff && op.modRM&0x38 == 0x28, c == 0xea: // far jumps
		in.kind = tail
	}
	if !is64 && in.target != 0 {
		in.target = uint64(uint32(in.target))
	}
	return in
}

// throughTable reports whether a jump to an address in a register or in memory is one through a
// table of the function. Compilers add the table's address to what it has, or jump through memory
// with an index, as calls through an array of functions also do, whose addresses lie elsewhere.
func (f *Function) throughTable(op *operation, code []byte, before [][]byte, is64 bool) bool {
	if op.mod() != 3 {
		return op.indexed() && (f.Compiled || f.leadsBack(op, code))
	}
	register := op.rm()
	for _, earlier := range before {
		if x86.IsVector(earlier, is64) {
			continue
		}
		op := operationOf(earlier, is64)
		switch {
		case op.two:
		case op.opcode == 0x03 && op.reg() == register, op.opcode == 0x01 && op.mod() == 3 && op.rm() == register: // add
			return true
		case op.opcode == 0x8b && op.reg() == register && op.indexed():
			if f.Compiled || f.leadsBack(&op, earlier) {
				return true
			}
		}
	}
	return false
}

// leadsBack reports whether the first address in a table at a fixed address leads into the
// function.
func (f *Function) leadsBack(op *operation, code []byte) bool {
	if op.mod() != 0 || op.sib&7 != 5 || f.Word == nil || len(code) < op.at+6 {
		return false
	}
	word, ok := f.Word(uint64(int64(int32(binary.LittleEndian.Uint32(code[op.at+2:])))))
	in, _ := (&walk{f: f}).part(word)
	return ok && in >= 0
}
