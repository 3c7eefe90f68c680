package procfs

import (
	"encoding/binary"
	"testing"
)

// TestAuxiliary finds entries in vectors of both widths, and none behind the end of one
// that is cut short.
func TestAuxiliary(t *testing.T) {
	var wide, narrow []byte
	for _, word := range []uint64{LinkerBase, 0x7f0000001000, EntryPoint, 0x401000} {
		wide = binary.NativeEndian.AppendUint64(wide, word)
		narrow = binary.NativeEndian.AppendUint32(narrow, uint32(word))
	}
	for _, test := range []struct {
		auxv []byte
		word int
		key  uint64
		want uint64
	}{
		{wide, 8, LinkerBase, 0x7f0000001000},
		{wide, 8, EntryPoint, 0x401000},
		{wide, 8, 3, 0},
		{narrow, 4, LinkerBase, 0x1000},
		{narrow, 4, EntryPoint, 0x401000},
		{wide[:len(wide)-1], 8, EntryPoint, 0},
		{nil, 8, EntryPoint, 0},
	} {
		if got := Auxiliary(test.auxv, test.word, test.key); got != test.want {
			t.Errorf("entry %d in words of %d bytes is %#x, want %#x", test.key, test.word, got, test.want)
		}
	}
}
