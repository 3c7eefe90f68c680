package attach

import "github.com/go-usdt/usdt/notes"

// x86-64 instructions at probe sites.
var (
	nop1  = notes.SiteNop.AMD64()
	nop5  = notes.SiteNop5.AMD64()
	nop10 = notes.SiteNop10.AMD64()
)

// isNop5 reports whether code begins with a nop of five bytes in any of its
// spellings, all of which Linux 6.18 optimises: nop and nopl (0f 1f /0), with
// prefixes. Compilers write others than assemblers do.
func isNop5(code []byte) bool {
	i := 0
	for i < len(code) && isPrefix(code[i]) {
		i++
	}
	code = code[i:]
	switch {
	case len(code) > 0 && code[0] == 0x90:
		return i+1 == 5
	case len(code) < 3 || code[0] != 0x0f || code[1] != 0x1f || code[2]>>3&7 != 0:
		return false
	}
	size, mod, rm := 3, code[2]>>6, code[2]&7
	if mod == 3 {
		return i+size == 5
	}
	if rm == 4 { // an SIB byte follows
		if len(code) < 4 {
			return false
		}
		size, rm = 4, code[3]&7
	}
	switch {
	case mod == 1:
		size++
	case mod == 2 || rm == 5:
		size += 4
	}
	return i+size == 5
}

// isPrefix reports whether c comes before the opcode of a 64-bit instruction
// that can be probed.
func isPrefix(c byte) bool {
	switch c {
	case 0x64, 0x65, 0x66, 0x67, 0xf2, 0xf3: // %fs, %gs, sizes, repetition
		return true
	}
	return c&0xf0 == 0x40 // REX
}
