package jit

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
)

// ErrFormat is the error for a file that is no jitdump file.
var ErrFormat = errors.New("not a jitdump file")

const (
	dumpMagic  = 0x4a695444
	dumpHeader = 40 // bytes, at least
	// maxRecord is the largest number of bytes of a record that are read: its code is
	// not.
	maxRecord = 16 << 20

	recordLoad      = 0
	recordMove      = 1
	recordDebugInfo = 2
)

// Dump is how far a jitdump file has been read. The zero value has read nothing.
type Dump struct {
	off   int64
	bo    binary.ByteOrder
	lines map[uint64][]Line // of code that is yet to come, by address
}

// ReadDump reads the records of a jitdump file from where d is.
func (c *Code) ReadDump(d *Dump, r io.ReaderAt) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d.off == 0 {
		var head [dumpHeader]byte
		if n, _ := r.ReadAt(head[:], 0); n < dumpHeader {
			return nil // not written yet
		}
		switch uint32(dumpMagic) {
		case binary.LittleEndian.Uint32(head[:]):
			d.bo = binary.LittleEndian
		case binary.BigEndian.Uint32(head[:]):
			d.bo = binary.BigEndian
		default:
			return ErrFormat
		}
		if version := d.bo.Uint32(head[4:]); version != 1 {
			return ErrFormat
		}
		d.off, d.lines = int64(max(d.bo.Uint32(head[8:]), dumpHeader)), map[uint64][]Line{}
	}
	buf := make([]byte, 64<<10)
	for left := maxRead; left > 0; {
		const prefix = 16 // id, size, time
		n, err := r.ReadAt(buf[:cap(buf)], d.off)
		if n < prefix {
			if err == io.EOF {
				err = nil
			}
			return err
		}
		id, size := d.bo.Uint32(buf), int(d.bo.Uint32(buf[4:]))
		if size < prefix {
			return ErrFormat
		}
		need := min(size, maxRecord)
		if id == recordLoad {
			need = min(need, prefix+40+maxName+1) // all but the code
		}
		if n < need && n < len(buf) {
			return nil // not written yet
		}
		if n < need {
			buf = slices.Grow(buf[:0], need)[:need]
			if n, err = r.ReadAt(buf, d.off); n < need {
				return err
			}
		}
		left -= need
		if !c.record(d, id, buf[prefix:need]) {
			return nil
		}
		d.off += int64(size)
	}
	return nil
}

// record adds what a record says. It returns false if the memory for functions is used up.
func (c *Code) record(d *Dump, id uint32, b []byte) bool {
	word := func(n int) uint64 { return d.bo.Uint64(b[n:]) }
	switch {
	case id == recordLoad && len(b) > 40:
		// pid, tid; vma, code_addr, code_size, code_index; name
		addr, size := word(16), word(24)
		name, _, _ := bytes.Cut(b[40:], []byte{0})
		lines := d.lines[addr]
		delete(d.lines, addr)
		if addr+size < addr {
			return true
		}
		return c.add(function{low: addr, high: addr + size, name: string(name[:min(len(name), maxName)]), lines: lines})
	case id == recordMove && len(b) >= 48:
		// pid, tid; vma, old_code_addr, new_code_addr, code_size, code_index
		from, to, size := word(16), word(24), word(32)
		for i := len(c.functions) - 1; i >= max(0, len(c.functions)-maxMoves); i-- {
			if f := c.functions[i]; f.low == from && to+size > to {
				f.low, f.high = to, to+size
				f.lines = slices.Clone(f.lines)
				for j := range f.lines {
					f.lines[j].Addr += to - from
				}
				return c.add(f)
			}
		}
	case id == recordDebugInfo && len(b) >= 16:
		addr, count := word(0), word(8)
		if len(d.lines) < maxPending {
			d.lines[addr] = d.debugInfo(b[16:], count)
		}
	}
	return true
}

const (
	// maxMoves is the number of functions among which one that moves is looked for.
	maxMoves = 1 << 16
	// maxPending is the number of functions that have lines but no code yet.
	maxPending = 64
)

// debugInfo decodes the lines of a function.
func (d *Dump) debugInfo(b []byte, count uint64) []Line {
	var lines []Line
	file := ""
	for ; count > 0 && len(b) >= 16; count-- {
		l := Line{Addr: d.bo.Uint64(b), Line: int(int32(d.bo.Uint32(b[8:])))}
		name, rest, ok := bytes.Cut(b[16:], []byte{0})
		if !ok {
			break
		}
		// "\xff" stands for the name before.
		if b = rest; string(name) != "\xff" && string(name) != file {
			file = string(name)
		}
		l.File = file
		lines = append(lines, l)
	}
	slices.SortStableFunc(lines, func(a, b Line) int {
		switch {
		case a.Addr < b.Addr:
			return -1
		case a.Addr > b.Addr:
			return 1
		}
		return 0
	})
	return lines
}
