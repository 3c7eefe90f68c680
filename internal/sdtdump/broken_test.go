package sdtdump

import (
	"debug/elf"
	"encoding/binary"
	"os"

	"github.com/go-usdt/usdt/notes"
)

// breakNotes gives the second note of the file at path a description that is
// longer than the section.
func breakNotes(path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	s := f.Section(notes.SectionName)
	data, err := s.Data()
	if err != nil {
		return err
	}
	// The first note's length leads to the second, whose descsz is at byte 4.
	second := 12 + 8 + (binary.LittleEndian.Uint32(data[4:])+3)&^3
	w, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err := w.WriteAt([]byte{0xff, 0xff, 0xff, 0x0f}, int64(s.Offset)+int64(second)+4); err != nil {
		w.Close()
		return err
	}
	return w.Close()
}
