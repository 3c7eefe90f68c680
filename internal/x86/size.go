// Package x86 knows how long instructions of x86 are.
package x86

import (
	"bytes"

	"golang.org/x/arch/x86/x86asm"
)

// Size returns the size of the first instruction of code, 0 if it is unknown.
func Size(code []byte, is64 bool) (size int) {
	defer func() {
		if recover() != nil { // a disassembler's tables may have holes
			size = 0
		}
	}()
	if n, ok := vexSize(code, is64); ok {
		return n
	}
	// x86asm does not know these: endbr64 and endbr32, rdpkru, wrpkru.
	for _, insn := range []string{"\xf3\x0f\x1e\xfa", "\xf3\x0f\x1e\xfb", "\x0f\x01\xee", "\x0f\x01\xef"} {
		if bytes.HasPrefix(code, []byte(insn)) {
			return len(insn)
		}
	}
	mode := 32
	if is64 {
		mode = 64
	}
	inst, err := x86asm.Decode(code, mode)
	if err != nil || inst.Op == 0 {
		return 0
	}
	return inst.Len
}

// IsVector reports whether code begins with an instruction with a VEX, EVEX or XOP prefix,
// which x86asm may take for another.
func IsVector(code []byte, is64 bool) bool {
	_, ok := vexSize(code, is64)
	return ok
}
