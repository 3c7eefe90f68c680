package plan

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
)

// stackCheck puts the uprobe behind the stack check with which Go functions
// begin.
func (pl *Planner) stackCheck(s *site) {
	if s.probe.Target.Convention.IsGo() {
		s.Offset += uint64(behindStackCheck(s.object.BytesAt(s.Offset, maxStackCheck), s.probe.Machine))
	}
}

// restarted moves the uprobe to the last of the instructions that Go's runtime starts again.
func (pl *Planner) restarted(s *site) {
	if s.probe.Target.Convention.IsGo() && s.probe.Machine == elf.EM_AARCH64 {
		s.Offset += uint64(behindTemporary(s.object.BytesAt(s.Offset, maxTemporary)))
	}
}

// maxStackCheck is how many bytes hold the longest stack check.
const maxStackCheck = 40

// behindStackCheck returns the length of the stack check at the beginning of
// code, the entry of a Go function; 0 if there is none. When the stack is too
// small, or the scheduler wants the goroutine to pause, the function starts again
// afterwards: a probe at the entry then fires twice, one behind the check once.
// No register that holds an argument has changed there, and only the check jumps
// there (cmd/internal/obj/x86/obj6.go and cmd/internal/obj/arm64/obj7.go:
// stacksplit).
func behindStackCheck(code []byte, m elf.Machine) int {
	switch m {
	case elf.EM_X86_64:
		return checkAMD64(code)
	case elf.EM_AARCH64:
		return checkARM64(code)
	}
	return 0
}

func checkAMD64(code []byte) int {
	rest := code
	skip := func(insn ...byte) bool {
		ok := bytes.HasPrefix(rest, insn)
		if ok {
			rest = rest[len(insn):]
		}
		return ok
	}
	drop := func(n int) bool {
		ok := len(rest) >= n
		if ok {
			rest = rest[n:]
		}
		return ok
	}
	// branch skips a conditional jump, near or short.
	branch := func(condition byte) bool {
		return skip(0x0f, 0x80|condition) && drop(4) || skip(0x70|condition) && drop(1)
	}
	const below, belowOrEqual = 2, 6
	var guarded bool
	switch {
	case skip(0x49, 0x3b, 0x66): // cmp guard(%r14),%rsp
		guarded = true
	case skip(0x4c, 0x8d, 0x64, 0x24): // lea -frame(%rsp),%r12
		guarded = drop(1) && skip(0x4d, 0x3b, 0x66) // cmp guard(%r14),%r12
	case skip(0x4c, 0x8d, 0xa4, 0x24):
		guarded = drop(4) && skip(0x4d, 0x3b, 0x66)
	case skip(0x49, 0x89, 0xe4): // mov %rsp,%r12; sub $frame,%r12; jb
		guarded = skip(0x49, 0x81, 0xec) && drop(4) && branch(below) && skip(0x4d, 0x3b, 0x66)
	}
	// The guard is g.stackguard0, or g.stackguard1 of the system's stack.
	if guarded && (skip(0x10) || skip(0x18)) && branch(belowOrEqual) {
		return len(code) - len(rest)
	}
	return 0
}

func checkARM64(code []byte) int {
	size := 0
	next := func(mask, want uint32) bool {
		if len(code) < size+4 || binary.LittleEndian.Uint32(code[size:])&mask != want {
			return false
		}
		size += 4
		return true
	}
	if !next(0xffffffff, 0xf9400b90) && !next(0xffffffff, 0xf9400f90) { // ldr x16, [x28, #guard]
		return 0
	}
	switch {
	case next(0xffffffff, 0xeb3063ff): // cmp sp, x16
	case next(0xff8003ff, 0xd10003f1): // sub x17, sp, #frame
		if !next(0xffffffff, 0xeb10023f) { // cmp x17, x16
			return 0
		}
	default: // large frames, of which the distance may lie below address 0
		if next(0xff80001f, 0xd280001b) { // mov x27, #frame
			next(0xff80001f, 0xf280001b)       // movk x27, #frame
			if !next(0xffffffff, 0xeb3b63f1) { // subs x17, sp, x27
				return 0
			}
		} else if !next(0xff8003ff, 0xf10003f1) { // subs x17, sp, #frame
			return 0
		}
		if !next(0xff00001f, 0x54000003) || !next(0xffffffff, 0xeb10023f) { // b.lo; cmp x17, x16
			return 0
		}
	}
	if !next(0xff00001f, 0x54000009) { // b.ls
		return 0
	}
	return size
}
