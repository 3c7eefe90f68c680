package attach

import (
	"encoding/binary"

	"github.com/go-usdt/usdt/notes"
)

// goTime returns the notes.GoTimeType at the beginning of b as a notes.TimeType.
func goTime(b []byte) int64 {
	return notes.GoTime(binary.NativeEndian.Uint64(b), int64(binary.NativeEndian.Uint64(b[8:])))
}

// goAddr returns the bytes of the notes.GoAddrType at the beginning of b, and how
// many there are.
func (r *reading) goAddr(b []byte) (bytes [16]byte, n int) {
	return notes.GoAddr(binary.NativeEndian.Uint64(b), binary.NativeEndian.Uint64(b[8:]), binary.NativeEndian.Uint64(b[16:]), r.ipv4)
}
