package plan

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// TestMarked refuses sites of notes that are at no nop.
func TestMarked(t *testing.T) {
	for _, test := range []struct {
		code    string
		machine elf.Machine
		refused bool
	}{
		{"\x90\xc3", elf.EM_X86_64, false},
		{"\x66\x90", elf.EM_X86_64, false},
		{"\x0f\x1f\x40\x00", elf.EM_X86_64, false},
		{"\x0f\x1f\x44\x00\x00", elf.EM_X86_64, false},
		{"\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00", elf.EM_X86_64, false},
		{"\x90\xc3", elf.EM_386, false},
		{"\x40\xc3", elf.EM_386, true},
		{"\xc3", elf.EM_X86_64, true},
		{"\x48\x89\xe5", elf.EM_X86_64, true},
		{"\x44\x00\x00", elf.EM_X86_64, true}, // in the midst of a nop
		{"\x1f\x20\x03\xd5", elf.EM_AARCH64, false},
		{"\xfd\x7b\xbf\xa9", elf.EM_AARCH64, true},
	} {
		class := elf.ELFCLASS64
		if test.machine == elf.EM_386 {
			class = elf.ELFCLASS32
		}
		s := site{
			Decision: Decision{Offset: 16},
			probe:    &reader.Probe{Note: notes.Note{Location: 16}, Machine: test.machine, Class: class, ByteOrder: binary.LittleEndian},
			object:   &operand.Object{Window: append([]byte(test.code), make([]byte, 64)...), WindowStart: 16},
		}
		(&Planner{}).marked(&s)
		if errors.Is(s.Reason, ErrUnsafe) != test.refused {
			t.Errorf("% x of %v: reason %v, want refused %t", test.code, test.machine, s.Reason, test.refused)
		}
	}
}
