package cfi

// Registers are a thread's registers, by the numbers that DWARF gives them, with the
// program counter last. x86-64 has 16, arm64 has x0 to x30 and sp.
type Registers [PC + 1]uint64

// PC is the index of the program counter.
const PC = 32

// Machine is what differs between architectures.
type Machine struct {
	SP, FP uint8 // numbers of registers
	// Link is the number of the register with the return address, 0 if calls put that
	// on the stack.
	Link uint8
	// Mask has the bits of a return address that are not its signature.
	Mask uint64
}

// The machines that are known. Numbers: System V ABI, AMD64 supplement, figure 3.36;
// DWARF for the Arm 64-bit Architecture, section 4.1.
var (
	AMD64 = &Machine{SP: 7, FP: 6, Mask: ^uint64(0)}
	ARM64 = &Machine{SP: 31, FP: 29, Link: 30, Mask: 1<<48 - 1}
)

// Stack is the piece of a stack that was copied.
type Stack struct {
	Start uint64 // the address of the first byte
	Data  []byte
}

// Word returns the 8 bytes at addr, of a little-endian machine.
func (s *Stack) Word(addr uint64) (uint64, bool) { return s.uint(addr, 8) }

func (s *Stack) uint(addr uint64, size int) (v uint64, ok bool) {
	off := addr - s.Start
	if n := uint64(len(s.Data)); off >= n || n-off < uint64(size) {
		return 0, false
	}
	b := s.Data[off:][:size]
	for i := size - 1; i >= 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v, true
}
