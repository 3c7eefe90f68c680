package safeelf

import (
	"bytes"
	"encoding/hex"
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

// AltLink returns the path and the build-id, in hexadecimal, of the file that has parts of
// f's debugging information: .gnu_debugaltlink is a string and the build-id. In DWARF 5,
// .debug_sup has a version, whether the file is such a part itself, a string, and a
// checksum behind its length. ok is false if there is no such file.
func (f *File) AltLink() (path, buildID string, ok bool) {
	if s := f.Section(".gnu_debugaltlink"); s != nil {
		if data, err := f.Data(s, 4<<10); err == nil {
			path, id, ok := bytes.Cut(data, []byte{0})
			return string(path), hex.EncodeToString(id), ok && len(id) > 0
		}
	}
	return f.sup(0)
}

// IsAlt reports whether f is the file with a build-id of [File.AltLink].
func (f *File) IsAlt(buildID string) bool {
	_, id, ok := f.sup(1)
	return f.BuildID() == buildID || ok && id == buildID
}

// sup returns what section .debug_sup has if f is no such part (0), or is one (1).
func (f *File) sup(part byte) (path, id string, ok bool) {
	s := f.Section(".debug_sup")
	if s == nil {
		return "", "", false
	}
	data, err := f.Data(s, 4<<10)
	if err != nil || len(data) < 4 || data[2] != part {
		return "", "", false
	}
	name, sum, _ := bytes.Cut(data[3:], []byte{0})
	if len(sum) < 2 || int(sum[0]) != len(sum)-1 { // a ULEB128 below 128
		return "", "", false
	}
	return string(name), hex.EncodeToString(sum[1:]), true
}
