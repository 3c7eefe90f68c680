package jit

import (
	"bytes"
	"io"
	"strconv"
)

const (
	// maxRead is the largest number of bytes that are read of a file at once.
	maxRead = 128 << 20
	// maxName is the length in bytes of the longest name.
	maxName = 16 << 10
)

// ReadPerfMap reads a perf map from offset off on, and returns where it ended: behind
// the last whole line. A line is "START SIZE NAME", with numbers in hexadecimal.
func (c *Code) ReadPerfMap(r io.ReaderAt, off int64) (end int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	buf := make([]byte, 256<<10)
	have := 0 // bytes of buf that begin a line
	for left := int64(maxRead); left > 0; {
		n, err := r.ReadAt(buf[have:], off+int64(have))
		data := buf[:have+n]
		left -= int64(n)
		for {
			i := bytes.IndexByte(data, '\n')
			if i < 0 {
				break
			}
			if !c.addLine(data[:i]) {
				return off, nil
			}
			data, off = data[i+1:], off+int64(i+1)
		}
		if err == io.EOF || err == nil && n == 0 {
			return off, nil
		}
		if err != nil {
			return off, err
		}
		if len(data) == len(buf) { // a line without an end
			off, data = off+int64(len(data)), nil
		}
		have = copy(buf, data)
	}
	return off, nil
}

// addLine adds the function of a line, if it is one.
func (c *Code) addLine(line []byte) bool {
	start, rest, ok := bytes.Cut(line, []byte{' '})
	size, name, more := bytes.Cut(rest, []byte{' '})
	if !ok || !more {
		return true
	}
	low, err := hex(start)
	if err != nil {
		return true
	}
	n, err := hex(size)
	if err != nil || low+n < low {
		return true
	}
	return c.add(function{low: low, high: low + n, name: string(name[:min(len(name), maxName)])})
}

// hex parses a hexadecimal number, which may begin with 0x.
func hex(b []byte) (uint64, error) {
	return strconv.ParseUint(string(bytes.TrimPrefix(b, []byte("0x"))), 16, 64)
}
