package cfi

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/go-usdt/usdt/internal/safeelf"
)

// maxFrames is the largest number of bytes that are read of a section.
const maxFrames = 128 << 20

// costEntry is what an entry costs of a file's budget.
const costEntry = 64

// Table is the call frame information of a file. Several goroutines may use it at
// once.
type Table struct {
	machine  *Machine
	sections []*section
	entries  []entry // by address
	rows     [rowCache]atomic.Pointer[Row]
}

// rowCache is the number of addresses whose rows are kept.
const rowCache = 4096

// section is .eh_frame or .debug_frame.
type section struct {
	data   []byte
	addr   uint64
	eh     bool
	common map[uint32]*common // by offset
}

// entry is a frame description entry: of a function.
type entry struct {
	start   uint64
	size    uint32
	section uint32
	off     uint32 // of its instructions in the section
	end     uint32
	common  *common
}

// common is a common information entry: what functions share.
type common struct {
	code, data   int64 // alignment factors
	ra           uint8 // the column of the return address
	encoding     uint8 // of addresses
	augmented    bool  // whether entries have data before their instructions
	signal       bool  // whether it is for frames that a signal interrupted
	instructions []byte
}

var errMachine = errors.New("call frame information of this machine is not known")

// Read reads the call frame information of f. It returns nil if there is none.
func Read(f *safeelf.File) (*Table, error) {
	t := &Table{}
	switch {
	case f.Machine == elf.EM_X86_64 && f.Class == elf.ELFCLASS64:
		t.machine = AMD64
	case f.Machine == elf.EM_AARCH64 && f.ByteOrder == binary.ByteOrder(binary.LittleEndian):
		t.machine = ARM64
	default:
		return nil, errMachine
	}
	for _, name := range []string{".eh_frame", ".debug_frame"} {
		s := f.Section(name)
		if s == nil {
			continue
		}
		data, err := f.Data(s, maxFrames)
		if err != nil {
			return nil, err
		}
		sec := &section{data: data, addr: s.Addr, eh: name == ".eh_frame", common: map[uint32]*common{}}
		t.sections = append(t.sections, sec)
		if err := t.read(f, sec); err != nil {
			return nil, fmt.Errorf("read section %s: %w", name, err)
		}
	}
	if len(t.entries) == 0 {
		return nil, nil
	}
	// The sort is stable: of equal addresses, that of .eh_frame comes first.
	slices.SortStableFunc(t.entries, func(a, b entry) int { return cmp.Compare(a.start, b.start) })
	t.entries = slices.Clip(slices.CompactFunc(t.entries, func(a, b entry) bool { return a.start == b.start }))
	return t, nil
}

// Machine returns the machine whose registers the table is about.
func (t *Table) Machine() *Machine { return t.machine }

// Size returns the number of bytes of memory that the table takes.
func (t *Table) Size() int64 {
	n := int64(40*cap(t.entries)) + rowCache*(8+256)
	for _, s := range t.sections {
		n += int64(len(s.data)) + int64(128*len(s.common))
	}
	return n
}

// read finds the entries of a section.
func (t *Table) read(f *safeelf.File, s *section) error {
	for off := uint32(0); ; {
		b := cursor{data: s.data, off: int(off)}
		n := uint64(b.u32())
		wide := n == 0xffffffff
		if wide {
			n = b.u64()
		}
		if b.failed || n == 0 && s.eh || n > uint64(len(s.data)-b.off) {
			return nil
		}
		if err := f.Spend(costEntry); err != nil {
			return err
		}
		body := cursor{data: s.data[:b.off+int(n)], off: b.off}
		if e, ok := t.entry(s, &body, wide); ok {
			e.section = uint32(len(t.sections) - 1)
			t.entries = append(t.entries, e)
		}
		off = uint32(len(body.data))
	}
}

// entry decodes the entry whose length b is behind. ok is false if it is no function's.
func (t *Table) entry(s *section, b *cursor, wide bool) (e entry, ok bool) {
	at := b.off
	id := uint64(b.u32())
	if wide && !s.eh {
		b.off = at
		id = b.u64()
	}
	var commonAt uint64
	if s.eh {
		if id == 0 {
			return e, false
		}
		commonAt = uint64(at) - id // the distance from here
	} else {
		if id == 0xffffffff || wide && id == 1<<64-1 {
			return e, false
		}
		commonAt = id
	}
	if commonAt >= uint64(len(s.data)) {
		return e, false
	}
	c := s.commonAt(uint32(commonAt))
	if c == nil {
		return e, false
	}
	encoding := c.encoding
	start := s.pointer(b, encoding)
	size := s.pointer(b, encoding&0x0f) // a length has the size, and is not relative
	if c.augmented {
		b.skip(b.uleb())
	}
	if b.failed || start == 0 || size == 0 || size > 1<<32-1 {
		return e, false
	}
	return entry{start: start, size: uint32(size), off: uint32(b.off), end: uint32(len(b.data)), common: c}, true
}

// commonAt decodes the common information entry at off, nil if there is none that is
// known.
func (s *section) commonAt(off uint32) *common {
	if c, ok := s.common[off]; ok {
		return c
	}
	c := s.readCommon(off)
	s.common[off] = c
	return c
}

func (s *section) readCommon(off uint32) *common {
	b := cursor{data: s.data, off: int(off)}
	n := uint64(b.u32())
	wide := n == 0xffffffff
	if wide {
		n = b.u64()
	}
	if b.failed || n > uint64(len(s.data)-b.off) {
		return nil
	}
	b.data = s.data[:b.off+int(n)]
	id := uint64(b.u32())
	if wide && !s.eh {
		id |= uint64(b.u32()) << 32
	}
	if s.eh && id != 0 || !s.eh && uint32(id) != 0xffffffff {
		return nil
	}
	version := b.u8()
	if version != 1 && version != 3 && version != 4 {
		return nil
	}
	augmentation := b.str()
	if version == 4 {
		if b.u8() != 8 || b.u8() != 0 { // sizes of an address and of a segment
			return nil
		}
	}
	c := &common{code: int64(b.uleb()), data: b.sleb()}
	if version == 1 {
		c.ra = b.u8()
	} else {
		c.ra = uint8(min(b.uleb(), 0xff))
	}
	if len(augmentation) > 0 && augmentation[0] != 'z' {
		return nil
	}
	if len(augmentation) > 0 {
		c.augmented = true
		rest := b.uleb()
		if b.failed || rest > uint64(len(b.data)-b.off) {
			return nil
		}
		args := cursor{data: b.data[:b.off+int(rest)], off: b.off}
		b.skip(rest)
	augmentations:
		for _, what := range augmentation[1:] {
			switch what {
			case 'R':
				c.encoding = args.u8()
			case 'L':
				args.u8()
			case 'P':
				s.pointer(&args, args.u8())
			case 'S':
				c.signal = true
			case 'B', 'G': // signed or tagged addresses (arm64)
			default:
				break augmentations
			}
		}
		if args.failed {
			return nil
		}
	}
	if b.failed || c.ra >= PC {
		return nil
	}
	c.instructions = b.data[b.off:]
	return c
}

// pointer decodes an address with an encoding (DW_EH_PE). It fails for encodings that need more
// than the section.
func (s *section) pointer(b *cursor, encoding uint8) uint64 {
	base := uint64(0)
	switch encoding & 0x70 {
	case 0x00:
	case 0x10: // from here
		base = s.addr + uint64(b.off)
	default:
		b.failed = true
		return 0
	}
	var v uint64
	switch encoding & 0x0f {
	case 0x00, 0x04, 0x0c:
		v = b.u64()
	case 0x01:
		v = b.uleb()
	case 0x02:
		v = uint64(b.u16())
	case 0x0a:
		v = uint64(int64(int16(b.u16())))
	case 0x03:
		v = uint64(b.u32())
	case 0x0b:
		v = uint64(int64(int32(b.u32())))
	case 0x09:
		v = uint64(b.sleb())
	default:
		b.failed = true
	}
	return base + v
}

// find returns the entry of the function that holds addr.
func (t *Table) find(addr uint64) *entry {
	lo, hi := 0, len(t.entries)
	for lo < hi {
		if mid := int(uint(lo+hi) / 2); t.entries[mid].start <= addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 || addr-t.entries[lo-1].start >= uint64(t.entries[lo-1].size) {
		return nil
	}
	return &t.entries[lo-1]
}
