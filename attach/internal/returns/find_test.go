package returns

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"slices"
	"testing"
)

const (
	armRET  = 0xd65f03c0
	armNOP  = 0xd503201f
	armBack = 0xd65f0020 // ret x1
)

// TestARM64 finds return instructions of arm64.
func TestARM64(t *testing.T) {
	for name, test := range map[string]struct {
		code      []uint32
		unreached bool
		want      []uint64
		fails     bool
		leaves    uint64
	}{
		"branches":          {[]uint32{0x34000040, armRET, 0x54000041, armRET, armRET}, false, []uint64{0x1004, 0x100c, 0x1010}, false, 0}, // cbz, b.ne
		"data behind":       {[]uint32{armRET, armRET}, false, []uint64{0x1000}, false, 0},
		"caught exceptions": {[]uint32{armRET, armRET}, true, []uint64{0x1000, 0x1004}, false, 0},
		"literal":           {[]uint32{0x18000040, armRET, armRET, 0}, true, []uint64{0x1004}, false, 0}, // ldr w0, 0x1008
		"tail call":         {[]uint32{armNOP, 0x14000400}, false, nil, true, 0x2004},                    // b
		"computed":          {[]uint32{0xf9400010, 0xd61f0200}, false, nil, true, 0},                     // ldr x16, [x0]; br x16
		"table":             {[]uint32{0x8b218800, 0xd61f0000, armRET, armNOP, armRET}, false, []uint64{0x1008, 0x1010}, false, 0},
		"by x1":             {[]uint32{armBack}, false, nil, true, 0},
		"falls through":     {[]uint32{0xb4000041, armRET, 0x91000400}, false, nil, true, 0},
		"does not return":   {[]uint32{0xb4000041, armRET, 0x94000100}, false, []uint64{0x1004}, false, 0}, // bl
	} {
		var code []byte
		for _, word := range test.code {
			code = binary.LittleEndian.AppendUint32(code, word)
		}
		f := Function{Machine: elf.EM_AARCH64, Class: elf.ELFCLASS64, Unreached: test.unreached, Parts: []Part{{0x1000, code}}}
		got, err := f.Find()
		if !slices.Equal(got, test.want) || err != nil != test.fails {
			t.Errorf("%s: %#x, error %v, want %#x", name, got, err, test.want)
		}
		var left *LeaveError
		if errors.As(err, &left); test.leaves != 0 && (left == nil || left.Target != test.leaves) {
			t.Errorf("%s: error %v, want a jump to %#x", name, err, test.leaves)
		}
	}
}
