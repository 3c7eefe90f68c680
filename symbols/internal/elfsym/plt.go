package elfsym

import (
	"debug/elf"
	"encoding/binary"
	"io"
	"strings"

	"github.com/go-usdt/usdt/internal/safeelf"
	"github.com/go-usdt/usdt/symbols/internal/span"
)

const (
	// maxStubs is the largest number of bytes that are read of a section of stubs, and
	// of relocations.
	maxStubs = 64 << 20
	// costStub is what a stub or a relocation costs of the file's budget.
	costStub = 64
)

// Stubs are the pieces of code in the procedure linkage table that jump to functions
// of other objects.
type Stubs struct {
	spans   *span.Table
	symbols []uint32 // offsets in names
	starts  []uint64
	names   io.ReaderAt // nil if there are none
}

// NewStubs reads the procedure linkage table. Only the tables of x86-64 and arm64 are
// known; other machines' have no stubs.
func NewStubs(f *safeelf.File) (*Stubs, error) {
	decode := map[elf.Machine]func(code []byte, at uint64) (slot uint64, size int){
		elf.EM_X86_64:  slotAMD64,
		elf.EM_AARCH64: slotARM64,
	}[f.Machine]
	if decode == nil || f.Class != elf.ELFCLASS64 {
		return nil, nil
	}
	p := &Stubs{}
	slots, err := p.slots(f)
	if err != nil || len(slots) == 0 {
		return nil, err
	}
	var spans []span.Span
	for i := range f.Sections {
		s := &f.Sections[i]
		if s.Flags&elf.SHF_EXECINSTR == 0 || !strings.HasPrefix(s.Name, ".plt") || s.Type != elf.SHT_PROGBITS {
			continue
		}
		code, err := f.Data(s, maxStubs)
		if err != nil {
			return nil, err
		}
		if err := f.Spend(costStub * uint64(len(code)) / 8); err != nil {
			return nil, err
		}
		for at := 0; at < len(code); {
			slot, size := decode(code[at:], s.Addr+uint64(at))
			if size == 0 {
				break
			}
			if name, ok := slots[slot]; ok && slot != 0 {
				start := s.Addr + uint64(at)
				spans = append(spans, span.Span{Low: start, High: start + uint64(size), ID: uint32(len(p.symbols))})
				p.symbols, p.starts = append(p.symbols, name), append(p.starts, start)
			}
			at += size
		}
	}
	p.spans = span.New(spans)
	return p, nil
}

// slots returns the slots of the global offset table that the dynamic linker fills
// with functions, by address, with the offsets of their names.
func (p *Stubs) slots(f *safeelf.File) (map[uint64]uint32, error) {
	bo := f.ByteOrder
	slots := map[uint64]uint32{}
	for i := range f.Sections {
		s := &f.Sections[i]
		if s.Type != elf.SHT_RELA || s.Flags&elf.SHF_ALLOC == 0 || uint64(s.Link) >= uint64(len(f.Sections)) {
			continue
		}
		dynsym := &f.Sections[s.Link]
		if dynsym.Type != elf.SHT_DYNSYM || uint64(dynsym.Link) >= uint64(len(f.Sections)) {
			continue
		}
		relocations, err := f.Data(s, maxStubs)
		if err != nil {
			return nil, err
		}
		if err := f.Spend(costStub * uint64(len(relocations)) / 24); err != nil {
			return nil, err
		}
		symbols, err := f.Data(dynsym, maxSymbols)
		if err != nil {
			return nil, err
		}
		if p.names == nil {
			names, _, err := f.Open(&f.Sections[dynsym.Link], maxStrings)
			if err != nil {
				return nil, err
			}
			p.names = names
		}
		for ; len(relocations) >= 24; relocations = relocations[24:] { // Elf64_Rela
			slot, info := bo.Uint64(relocations), bo.Uint64(relocations[8:])
			if !isSlot(f.Machine, uint32(info)) {
				continue
			}
			if n := info >> 32 * 24; n != 0 && n+24 <= uint64(len(symbols)) {
				slots[slot] = bo.Uint32(symbols[n:])
			}
		}
	}
	return slots, nil
}

// isSlot reports whether a type of relocations stores a symbol's address.
func isSlot(m elf.Machine, typ uint32) bool {
	if m == elf.EM_X86_64 {
		return typ == uint32(elf.R_X86_64_JMP_SLOT) || typ == uint32(elf.R_X86_64_GLOB_DAT)
	}
	return typ == uint32(elf.R_AARCH64_JUMP_SLOT) || typ == uint32(elf.R_AARCH64_GLOB_DAT)
}

// slotAMD64 returns the slot through which the stub at an address jumps, 0 if the
// code is no stub, and the number of bytes up to the next one, 0 at the end.
func slotAMD64(code []byte, at uint64) (slot uint64, size int) {
	size = min(16, len(code))
	for i := 0; i+6 <= size; i++ {
		if code[i] == 0xff && code[i+1] == 0x25 { // jmp *disp32(%rip)
			slot = at + uint64(i+6) + uint64(int64(int32(binary.LittleEndian.Uint32(code[i+2:]))))
			if i == 0 && len(code) >= 8 && code[6] == 0x66 && code[7] == 0x90 { // .plt.got: padded to 8
				size = 8
			}
			return slot, size
		}
	}
	return 0, size
}

// slotARM64 is slotAMD64 for arm64: adrp x16, page; ldr x17, [x16, #offset].
func slotARM64(code []byte, at uint64) (slot uint64, size int) {
	if len(code) < 8 {
		return 0, 0
	}
	adrp, ldr := binary.LittleEndian.Uint32(code), binary.LittleEndian.Uint32(code[4:])
	if adrp&0x9f00001f != 0x90000010 || ldr&0xffc003ff != 0xf9400211 {
		return 0, 4
	}
	page := int64(int32((adrp>>5&0x7ffff<<2|adrp>>29&3)<<11)) << 1 // 21 signed bits, in pages of 4 KiB
	return at&^0xfff + uint64(page) + uint64(ldr>>10&0xfff)*8, min(16, len(code))
}

// Function returns the name of the function to which the stub at addr jumps, and the
// stub's address.
func (p *Stubs) Function(addr uint64) (name string, start uint64, ok bool) {
	if p == nil {
		return "", 0, false
	}
	id, ok := p.spans.Find(addr)
	if !ok {
		return "", 0, false
	}
	name, ok = safeelf.String(p.names, uint64(p.symbols[id]), MaxName)
	return name, p.starts[id], ok && name != ""
}

// Size returns the number of bytes of memory that the stubs take.
func (p *Stubs) Size() int64 {
	if p == nil {
		return 0
	}
	return p.spans.Size() + int64(12*cap(p.starts))
}
