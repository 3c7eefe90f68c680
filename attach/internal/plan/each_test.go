package plan

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/go-usdt/usdt/internal/safeelf"
)

// TestEach compares what is found in code that is read in parts with what is found in the whole.
func TestEach(t *testing.T) {
	const header = 64
	code := bytes.Repeat([]byte{0x90}, 3*256<<10+17)
	for _, at := range []int{0, 5, 70, len(code) - 6, len(code) - 5} {
		copy(code[at:], "\xff\x15")
	}
	for part := 256 << 10; part < len(code)-200; part += 256 << 10 { // more than one before and behind each border
		for i := -150; i < 150; i += 7 {
			copy(code[part+i:], "\xff\x15")
		}
	}
	file := make([]byte, header, header+len(code))
	copy(file, elf.ELFMAG+"\x02\x01\x01")
	binary.LittleEndian.PutUint16(file[16:], uint16(elf.ET_EXEC))
	binary.LittleEndian.PutUint16(file[18:], uint16(elf.EM_X86_64))
	binary.LittleEndian.PutUint32(file[20:], 1)
	binary.LittleEndian.PutUint16(file[52:], header)
	f, err := safeelf.NewFile(bytes.NewReader(append(file, code...)))
	if err != nil {
		t.Fatal(err)
	}
	s := &elf.SectionHeader{Addr: 0x1000, Offset: header, FileSize: uint64(len(code))}
	type call struct {
		at, target uint64
		before     string
	}
	var got, want []call
	each(f, s, "\xff\x15", func(before []byte, at, target uint64) bool {
		got = append(got, call{at, target, string(before)})
		return false
	})
	for i := range len(code) - 5 {
		if code[i] == 0xff && code[i+1] == 0x15 {
			distance := int64(int32(binary.LittleEndian.Uint32(code[i+2:])))
			want = append(want, call{0x1000 + uint64(i), uint64(0x1000 + int64(i) + 6 + distance), string(code[max(i-64, 0):i])})
		}
	}
	if !slices.Equal(got, want) || len(want) < 80 {
		t.Errorf("%d found, want %d", len(got), len(want))
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				t.Fatalf("number %d: at %#x to %#x, want at %#x to %#x", i, got[i].at, got[i].target, want[i].at, want[i].target)
			}
		}
	}
	n := 0
	if !each(f, s, "\xff\x15", func([]byte, uint64, uint64) bool { n++; return n == 3 }) || n != 3 {
		t.Errorf("visited %d, want 3", n)
	}
}
