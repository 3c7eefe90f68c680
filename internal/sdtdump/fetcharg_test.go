package sdtdump

import (
	"debug/elf"
	"testing"

	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// TestFetchArg checks operands that look simple and are not.
func TestFetchArg(t *testing.T) {
	for _, tt := range []struct {
		machine elf.Machine
		class   elf.Class
		arg     string
		want    string
		err     error
	}{
		{elf.EM_X86_64, elf.ELFCLASS64, "-4@%edi", "%di:s32", nil},
		{elf.EM_X86_64, elf.ELFCLASS64, "1@%ah", "", errRegister},
		{elf.EM_X86_64, elf.ELFCLASS64, "-16@%rax", "", errWidth},
		{elf.EM_X86_64, elf.ELFCLASS64, "8@%fs:16", "", errAddress},
		{elf.EM_X86_64, elf.ELFCLASS64, "4@-8(%rbp,%rax,4)", "", errIndex},
		{elf.EM_386, elf.ELFCLASS32, "-8@%eax", "", errPair},
		{elf.EM_386, elf.ELFCLASS32, "4@%eax", "%ax:u32", nil},
		{elf.EM_ARM, elf.ELFCLASS32, "8@r4", "", errPair},
		{elf.EM_AARCH64, elf.ELFCLASS64, "-4@wzr", `\0:s32`, nil},
		{elf.EM_AARCH64, elf.ELFCLASS64, "4@[sp, 8]", "+8(%sp):u32", nil},
	} {
		p := decoded{&reader.Probe{Machine: tt.machine, Class: tt.class}, notes.ParseArgs(notes.Machine(tt.machine), notes.Class(tt.class), tt.arg)}
		if got, err := fetchArg(p, 0, nil); got != tt.want || err != tt.err {
			t.Errorf("%v %s: got %q, %v, want %q, %v", tt.machine, tt.arg, got, err, tt.want, tt.err)
		}
	}
}
