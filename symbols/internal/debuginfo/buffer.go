package debuginfo

import (
	"bytes"
	"encoding/binary"
)

// buffer decodes bytes from the front. After the first number that is not there, it
// is empty and failed.
type buffer struct {
	data   []byte
	bo     binary.ByteOrder
	failed bool
}

func (b *buffer) take(n uint64) []byte {
	if n > uint64(len(b.data)) {
		b.data, b.failed = nil, true
		return nil
	}
	out := b.data[:n]
	b.data = b.data[n:]
	return out
}

func (b *buffer) u8() uint8 {
	if p := b.take(1); p != nil {
		return p[0]
	}
	return 0
}

func (b *buffer) u16() uint16 {
	if p := b.take(2); p != nil {
		return b.bo.Uint16(p)
	}
	return 0
}

func (b *buffer) u32() uint32 {
	if p := b.take(4); p != nil {
		return b.bo.Uint32(p)
	}
	return 0
}

func (b *buffer) u64() uint64 {
	if p := b.take(8); p != nil {
		return b.bo.Uint64(p)
	}
	return 0
}

// uint decodes a number of 1, 2, 3, 4 or 8 bytes.
func (b *buffer) uint(size int) uint64 {
	switch size {
	case 1:
		return uint64(b.u8())
	case 2:
		return uint64(b.u16())
	case 3:
		p := b.take(3)
		if p == nil {
			return 0
		}
		if b.bo == binary.ByteOrder(binary.BigEndian) {
			return uint64(p[0])<<16 | uint64(p[1])<<8 | uint64(p[2])
		}
		return uint64(p[2])<<16 | uint64(p[1])<<8 | uint64(p[0])
	case 4:
		return uint64(b.u32())
	case 8:
		return b.u64()
	}
	b.data, b.failed = nil, true
	return 0
}

// uleb decodes an unsigned LEB128; bits beyond 64 are lost.
func (b *buffer) uleb() uint64 {
	if len(b.data) > 0 && b.data[0] < 0x80 {
		v := b.data[0]
		b.data = b.data[1:]
		return uint64(v)
	}
	v, shift := uint64(0), uint(0)
	for i, c := range b.data {
		if shift < 64 {
			v |= uint64(c&0x7f) << shift
		}
		shift += 7
		if c < 0x80 {
			b.data = b.data[i+1:]
			return v
		}
	}
	b.data, b.failed = nil, true
	return 0
}

func (b *buffer) sleb() int64 {
	v, shift := int64(0), uint(0)
	for i, c := range b.data {
		if shift < 64 {
			v |= int64(c&0x7f) << shift
		}
		shift += 7
		if c < 0x80 {
			if c&0x40 != 0 && shift < 64 {
				v |= -1 << shift
			}
			b.data = b.data[i+1:]
			return v
		}
	}
	b.data, b.failed = nil, true
	return 0
}

// str decodes a string up to its NUL byte.
func (b *buffer) str() []byte {
	i := bytes.IndexByte(b.data, 0)
	if i < 0 {
		b.data, b.failed = nil, true
		return nil
	}
	s := b.data[:i]
	b.data = b.data[i+1:]
	return s
}

// length decodes the length of what follows, and the size of offsets in it.
func (b *buffer) length() (n uint64, offset int) {
	if n = uint64(b.u32()); n == 0xffffffff {
		return b.u64(), 8
	}
	if n >= 0xfffffff0 {
		b.data, b.failed = nil, true
	}
	return n, 4
}
