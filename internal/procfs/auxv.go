package procfs

import "encoding/binary"

// Keys of entries of an auxiliary vector, include/uapi/linux/auxvec.h.
const (
	LinkerBase = 7 // AT_BASE: where the dynamic linker is
	EntryPoint = 9 // AT_ENTRY: where the program's own code begins
)

// Auxiliary returns an entry of an auxiliary vector (/proc/PID/auxv), whose words have
// 8 or 4 bytes; 0 if it is not there.
func Auxiliary(auxv []byte, word int, key uint64) uint64 {
	number := func(b []byte) uint64 {
		if word == 4 {
			return uint64(binary.NativeEndian.Uint32(b))
		}
		return binary.NativeEndian.Uint64(b)
	}
	for ; len(auxv) >= 2*word; auxv = auxv[2*word:] {
		if number(auxv) == key {
			return number(auxv[word:])
		}
	}
	return 0
}
