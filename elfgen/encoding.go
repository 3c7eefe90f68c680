package elfgen

import (
	"encoding/binary"
)

// encoding knows the sizes and the byte order of an object's structures.
type encoding struct {
	order binary.ByteOrder
	is64  bool
}

func newEncoding(c Class, d Data) encoding {
	e := encoding{order: binary.LittleEndian, is64: c == ELFCLASS64}
	if d == ELFDATA2MSB {
		e.order = binary.BigEndian
	}
	return e
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
func (w *writer) u16(v uint16) { w.order.PutUint16(w.buf, v); w.buf = w.buf[2:] }

//go:noinline
func (w *writer) u32(v uint32) { w.order.PutUint32(w.buf, v); w.buf = w.buf[4:] }

//go:noinline
func (w *writer) u64(v uint64) { w.order.PutUint64(w.buf, v); w.buf = w.buf[8:] }

// word writes an address, offset or size of the object's class.
func (w *writer) word(v uint64) {
	if w.is64 {
		w.u64(v)
	} else {
		w.u32(uint32(v))
	}
}
