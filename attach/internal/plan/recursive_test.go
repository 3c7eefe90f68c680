package plan

import (
	"encoding/binary"
	"slices"
	"testing"
)

// TestRecursive knows calls of a function's own beginning.
func TestRecursive(t *testing.T) {
	x86 := func(at, target int) []byte {
		code := slices.Repeat([]byte{0x90}, at)
		return append(binary.LittleEndian.AppendUint32(append(code, 0xe8), uint32(int32(target-at-5))), 0xc3)
	}
	arm64 := func(at, target int) []byte {
		code := make([]byte, at)
		return binary.LittleEndian.AppendUint32(code, 0x94000000|uint32((target-at)/4)&0x03ffffff)
	}
	for _, at := range []int{0, 4, 100, 70000} {
		if !callsX86(x86(at, 0)) || !callsARM64(arm64(at, 0)) {
			t.Errorf("a call at %d of the beginning is not known", at)
		}
		for _, target := range []int{4, -4, 1 << 20} {
			if callsX86(x86(at, target)) || callsARM64(arm64(at, target)) {
				t.Errorf("a call at %d of what is at %d is taken for one of the beginning", at, target)
			}
		}
	}
	if callsX86(x86(100, 0)[:104]) {
		t.Error("a call that the function does not hold is taken for one")
	}
}
