package cfi

import (
	"bytes"
	"encoding/binary"
)

// cursor decodes little-endian bytes from an offset on. After the first number that is
// not there, it has failed and is at the end.
type cursor struct {
	data   []byte
	off    int
	failed bool
}

func (c *cursor) take(n int) []byte {
	if n > len(c.data)-c.off {
		c.off, c.failed = len(c.data), true
		return nil
	}
	c.off += n
	return c.data[c.off-n : c.off]
}

func (c *cursor) skip(n uint64) []byte { return c.take(int(min(n, 1<<62))) }

func (c *cursor) more() bool { return c.off < len(c.data) }

func (c *cursor) u8() uint8 {
	if b := c.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (c *cursor) u16() uint16 {
	if b := c.take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (c *cursor) u32() uint32 {
	if b := c.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (c *cursor) u64() uint64 {
	if b := c.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (c *cursor) uleb() (v uint64) {
	for shift := uint(0); ; shift += 7 {
		b := c.u8()
		if shift < 64 {
			v |= uint64(b&0x7f) << shift
		}
		if b < 0x80 {
			return v
		}
	}
}

func (c *cursor) sleb() (v int64) {
	for shift := uint(0); ; {
		b := c.u8()
		if shift < 64 {
			v |= int64(b&0x7f) << shift
		}
		shift += 7
		if b < 0x80 {
			if b&0x40 != 0 && shift < 64 {
				v |= -1 << shift
			}
			return v
		}
	}
}

func (c *cursor) str() string {
	i := bytes.IndexByte(c.data[c.off:], 0)
	if i < 0 {
		c.off, c.failed = len(c.data), true
		return ""
	}
	return string(c.take(i + 1)[:i])
}
