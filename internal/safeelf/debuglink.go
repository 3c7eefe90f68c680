package safeelf

import (
	"bytes"
	"path/filepath"
)

// DebugLink returns the name of the file with the debug symbols, without a directory,
// and its checksum. They are in .gnu_debuglink: a string, padded to four bytes, and a
// CRC-32. ok is false if the file has no link.
func (f *File) DebugLink() (name string, sum uint32, ok bool) {
	s := f.Section(".gnu_debuglink")
	if s == nil {
		return "", 0, false
	}
	data, err := f.Data(s, 4<<10)
	if err != nil {
		return "", 0, false
	}
	i := bytes.IndexByte(data, 0)
	at := (i + 4) &^ 3
	if i <= 0 || at+4 > len(data) {
		return "", 0, false
	}
	// The search stays within given directories, never above them.
	return filepath.Base(string(data[:i])), f.ByteOrder.Uint32(data[at:]), true
}
