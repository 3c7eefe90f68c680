package traps

import (
	"encoding/binary"

	"github.com/go-usdt/usdt/internal/x86"
)

// shortLoop is the length of a loop in instructions: a longer one is seldom gone round again and again.
const shortLoop = 40

// loops reports whether the instruction at code[site:] of x86-64 is reached again by a few others
// before its function returns: whether it is part of a short loop. Calls are stepped over. Jumps that
// leave the code, or whose targets are computed, lead nowhere.
func loops(code []byte, site int) bool {
	seen := map[int]bool{}
	next, behind := []int{site}, []int{}
	for steps := 0; steps < shortLoop; {
		if len(next) == 0 {
			next, behind = behind, nil
			if steps++; len(next) == 0 {
				return false
			}
		}
		at := next[len(next)-1]
		next = next[:len(next)-1]
		size := 0
		if at >= 0 && at < len(code) {
			size = x86.Size(code[at:], true)
		}
		if size == 0 || seen[at] {
			continue
		}
		seen[at] = true
		in := code[at : at+size]
		for len(in) > 1 && (in[0] == 0xf2 || in[0] == 0xf3 || in[0] == 0x3e || in[0] == 0x2e) { // bnd, rep ret, hints
			in = in[1:]
		}
		var jumps, ends bool
		distance := 0
		switch op := in[0]; {
		case op == 0xc3, op == 0xc2, op == 0xff && len(in) > 1 && in[1]&0x38 == 0x20, op == 0x0f && len(in) > 1 && in[1] == 0x0b: // ret; jmp *; ud2
			ends = true
		case op == 0xeb, op&0xf0 == 0x70, op&0xfc == 0xe0: // jmp, jcc, loop and jrcxz
			jumps, ends, distance = true, op == 0xeb, int(int8(in[len(in)-1]))
		case op == 0xe9, op == 0x0f && len(in) == 6 && in[1]&0xf0 == 0x80: // jmp, jcc
			jumps, ends, distance = true, op == 0xe9, int(int32(binary.LittleEndian.Uint32(in[len(in)-4:])))
		}
		if target := at + size + distance; jumps {
			if target == site {
				return true
			}
			behind = append(behind, target)
		}
		if !ends {
			if at+size == site {
				return true
			}
			behind = append(behind, at+size)
		}
	}
	return false
}
