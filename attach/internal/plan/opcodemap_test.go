package plan

import (
	"strings"
	"testing"
)

// opcodeMap is what arch/x86/lib/x86-opcode-map.txt of Linux 6.1 and 6.12 says of the
// opcodes behind 0f: which are several instructions, chosen by the last prefix, and which
// of these there are behind f2 and f3. The decoder (arch/x86/lib/inat.c:
// inat_get_escape_attribute) finds no operand where a prefix chooses none of several.
var opcodeMap = struct{ several, f2, f3 string }{
	several: "\x09\x10\x11\x12\x13\x14\x15\x16\x17\x1a\x1b\x28\x29\x2a\x2b\x2c\x2d\x2e\x2f\x41\x42\x44\x45\x46\x47\x4a\x4b\x50\x51\x52\x53\x54" +
		"\x55\x56\x57\x58\x59\x5a\x5b\x5c\x5d\x5e\x5f\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f\x70\x74\x75\x76\x78" +
		"\x79\x7a\x7b\x7c\x7d\x7e\x7f\x90\x91\x92\x93\x98\x99\xb8\xbc\xbd\xc2\xc4\xc5\xc6\xd0\xd1\xd2\xd3\xd4\xd5\xd6\xd7\xd8\xd9\xda\xdb" +
		"\xdc\xdd\xde\xdf\xe0\xe1\xe2\xe3\xe4\xe5\xe6\xe7\xe8\xe9\xea\xeb\xec\xed\xee\xef\xf0\xf1\xf2\xf3\xf4\xf5\xf6\xf7\xf8\xf9\xfa\xfb" +
		"\xfc\xfd\xfe",
	f2: "\x10\x11\x12\x1a\x1b\x2a\x2c\x2d\x51\x58\x59\x5a\x5c\x5d\x5e\x5f\x6f\x70\x78\x79\x7a\x7b\x7c\x7d\x7f\x92\x93\xb8\xbc\xbd\xc2\xd0" +
		"\xd6\xe6\xf0",
	f3: "\x09\x10\x11\x12\x16\x1a\x1b\x2a\x2c\x2d\x51\x52\x53\x58\x59\x5a\x5b\x5c\x5d\x5e\x5f\x6f\x70\x78\x79\x7a\x7b\x7e\x7f\xb8\xbc\xbd" +
		"\xc2\xd6\xe6",
}

// TestOpcodeMap compares what the planner believes the decoder knows with the map.
func TestOpcodeMap(t *testing.T) {
	for prefix, table := range map[string][2]string{"f2": {afterF2, opcodeMap.f2}, "f3": {afterF3, opcodeMap.f3}} {
		for op := range 256 {
			c := byte(op)
			if c == 0x09 { // wbnoinvd has no operand
				continue
			}
			decoded := strings.IndexByte(opcodeMap.several, c) < 0 || strings.IndexByte(table[1], c) >= 0
			if known(c, table[0]) && !decoded {
				t.Errorf("%s 0f %02x: the planner believes that the decoder knows its operand", prefix, c)
			}
		}
		for _, c := range []byte(table[0]) {
			if strings.IndexByte(table[1], c) < 0 {
				t.Errorf("%s 0f %02x is not in the map", prefix, c)
			}
		}
	}
}
