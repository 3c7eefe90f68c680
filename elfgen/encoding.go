package elfgen

import (
	"encoding/binary"
)

// encoding knows the sizes and the byte order of an object's structures. It puts
// numbers into either order itself: called through a binary.ByteOrder, all methods of
// both orders would be linked, 12 kB in each service that declares probes.
type encoding struct {
	_    [0]func() // without a function that compares two
	big  bool      // the byte order
	is64 bool
}

func newEncoding(c Class, d Data) encoding {
	return encoding{big: d == ELFDATA2MSB, is64: c == ELFCLASS64}
}

func (e encoding) get32(b []byte) uint32 {
	if e.big {
		return binary.BigEndian.Uint32(b)
	}
	return binary.LittleEndian.Uint32(b)
}

func (e encoding) get64(b []byte) uint64 {
	if e.big {
		return binary.BigEndian.Uint64(b)
	}
	return binary.LittleEndian.Uint64(b)
}

//go:noinline
func (e encoding) put32(b []byte, v uint32) {
	if e.big {
		binary.BigEndian.PutUint32(b, v)
	} else {
		binary.LittleEndian.PutUint32(b, v)
	}
}

//go:noinline
func (e encoding) put64(b []byte, v uint64) {
	if e.big {
		binary.BigEndian.PutUint64(b, v)
	} else {
		binary.LittleEndian.PutUint64(b, v)
	}
}

func (e encoding) pick(size32, size64 uint64) uint64 {
	if e.is64 {
		return size64
	}
	return size32
}

func (e encoding) wordSize() int       { return int(e.pick(4, 8)) }
func (e encoding) headerSize() uint64  { return e.pick(52, 64) } // Elf32_Ehdr, Elf64_Ehdr
func (e encoding) progSize() uint64    { return e.pick(32, 56) } // Elf32_Phdr, Elf64_Phdr
func (e encoding) sectionSize() uint64 { return e.pick(40, 64) } // Elf32_Shdr, Elf64_Shdr
func (e encoding) symSize() uint64     { return e.pick(16, 24) } // Elf32_Sym, Elf64_Sym

// writer encodes numbers one after the other.
type writer struct {
	encoding
	buf []byte // the part that is still to be written
}

// The methods are not inlined, because inlining would add 4 kB to each service that
// declares probes.

//go:noinline
func (w *writer) bytes(b []byte) { w.buf = w.buf[copy(w.buf, b):] }

//go:noinline
func (w *writer) u8(v uint8) { w.buf[0] = v; w.buf = w.buf[1:] }

//go:noinline
func (w *writer) u16(v uint16) {
	if w.big {
		binary.BigEndian.PutUint16(w.buf, v)
	} else {
		binary.LittleEndian.PutUint16(w.buf, v)
	}
	w.buf = w.buf[2:]
}

//go:noinline
func (w *writer) u32(v uint32) { w.put32(w.buf, v); w.buf = w.buf[4:] }

//go:noinline
func (w *writer) u64(v uint64) { w.put64(w.buf, v); w.buf = w.buf[8:] }

// word writes an address, offset or size of the object's class.
func (w *writer) word(v uint64) {
	if w.is64 {
		w.u64(v)
	} else {
		w.u32(uint32(v))
	}
}
