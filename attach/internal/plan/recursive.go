package plan

import (
	"debug/elf"
	"encoding/binary"
)

// recursive reports whether a function calls itself. The kernel traces the returns of 64 calls
// at a time in a thread, and leaves out the returns of deeper calls (kernel/events/uprobes.c:
// prepare_uretprobe), which probes at its return instructions see.
func (pl *Planner) recursive(s *site) bool {
	code := codeOf(s)
	switch s.probe.Machine {
	case elf.EM_X86_64, elf.EM_386:
		return callsX86(code)
	case elf.EM_AARCH64:
		return callsARM64(code)
	}
	return false
}

// codeOf returns the code of a site's function, nothing if that costs too much.
func codeOf(s *site) []byte {
	fn := s.probe.Target
	if fn.Size == 0 || fn.Size > maxReturning || s.object.ELF.Spend(fn.Size) != nil {
		return nil
	}
	return codeAt(s.object, fn.Address, fn.Size)
}

// callsX86 reports whether code has a call of its own beginning. Bytes that happen to look like
// one do no harm.
func callsX86(code []byte) bool {
	const call, size = 0xe8, 5
	for i := 0; i+size <= len(code); i++ {
		if code[i] == call && int32(binary.LittleEndian.Uint32(code[i+1:])) == -int32(i+size) {
			return true
		}
	}
	return false
}

func callsARM64(code []byte) bool {
	const bl, distance = 0x94000000, 0x03ffffff
	for i := 0; i+4 <= len(code); i += 4 {
		if binary.LittleEndian.Uint32(code[i:]) == bl|uint32(-i/4)&distance {
			return true
		}
	}
	return false
}
