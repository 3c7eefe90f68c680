package elfgen_test

import (
	"testing"

	"github.com/go-usdt/usdt/elfgen"
)

// TestSegments checks that segments hold the sections of their permissions and lie in the
// file.
func TestSegments(t *testing.T) {
	text := &elfgen.Section{Name: ".text", Type: elfgen.SHT_PROGBITS, Flags: elfgen.SHF_ALLOC | elfgen.SHF_EXECINSTR, Size: 16}
	data := &elfgen.Section{Name: ".data", Type: elfgen.SHT_PROGBITS, Flags: elfgen.SHF_ALLOC | elfgen.SHF_WRITE, Size: 16}
	img, err := (&elfgen.Object{Class: elfgen.ELFCLASS64, Data: elfgen.ELFDATA2LSB, Machine: elfgen.EM_X86_64, Sections: []*elfgen.Section{text, data}}).Layout()
	if err != nil {
		t.Fatal(err)
	}
	file := img.Finish()
	for _, s := range []*elfgen.Section{text, data} {
		found := 0
		for _, seg := range img.Segments() {
			if seg.Offset <= s.Addr && s.Addr+s.Size <= seg.Offset+seg.Size {
				found++
			}
			if seg.Offset+seg.Size > uint64(len(file)) {
				t.Errorf("segment %+v lies beyond the file's %d bytes", seg, len(file))
			}
		}
		if found != 1 {
			t.Errorf("%s is in %d segments of %+v", s.Name, found, img.Segments())
		}
	}
}
