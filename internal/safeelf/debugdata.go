package safeelf

import (
	"bytes"
	"fmt"
)

// maxDebugdata is the largest number of bytes that are decompressed from
// .gnu_debugdata.
const maxDebugdata = 32 << 20

// costUnxz is the cost of a byte that comes out of .gnu_debugdata.
const costUnxz = 8

// Debugdata returns the ELF file that section .gnu_debugdata holds, compressed by xz,
// nil if there is no such section. It has the symbols that Fedora leaves to programs:
// https://sourceware.org/gdb/current/onlinedocs/gdb.html/MiniDebugInfo.html
func (f *File) Debugdata() (inner *File, err error) {
	s := f.Section(".gnu_debugdata")
	if s == nil {
		return nil, nil
	}
	data, err := f.Data(s, maxDebugdata)
	if err != nil {
		return nil, err
	}
	defer func() {
		if r := recover(); r != nil {
			inner, err = nil, fmt.Errorf("section .gnu_debugdata: xz panics: %v", r)
		}
	}()
	// The limit also applies to the dictionary, which may be as large as the output.
	plain, err := unxz(data, int64(min(maxDebugdata, f.Allowance()/costUnxz)))
	if err == nil {
		err = f.Spend(costUnxz * uint64(len(plain)))
	}
	if err == nil {
		inner, err = f.Inner(bytes.NewReader(plain))
	}
	if err != nil {
		return nil, fmt.Errorf("section .gnu_debugdata: %w", err)
	}
	return inner, nil
}
