package safeelf

import (
	"debug/elf"
)

// maxDynamic is the largest size in bytes of a dynamic section, and of its strings, that
// is read: that of large C++ libraries is a tenth.
const maxDynamic = 64 << 20

// Dynamic returns the strings that entries of the dynamic section with a tag name, such as
// DT_NEEDED.
func (f *File) Dynamic(tag elf.DynTag) (values []string) {
	section, names := f.Section(".dynamic"), f.Section(".dynstr")
	if section == nil || names == nil {
		return nil
	}
	entries, err := f.Data(section, maxDynamic)
	if err != nil {
		return nil
	}
	word := 8
	if f.Class == elf.ELFCLASS32 {
		word = 4
	}
	for ; len(entries) >= 2*word; entries = entries[2*word:] {
		var found, value uint64
		if word == 4 {
			found, value = uint64(f.ByteOrder.Uint32(entries)), uint64(f.ByteOrder.Uint32(entries[4:]))
		} else {
			found, value = f.ByteOrder.Uint64(entries), f.ByteOrder.Uint64(entries[8:])
		}
		if elf.DynTag(found) == elf.DT_NULL {
			break
		}
		if elf.DynTag(found) != tag || value >= names.FileSize || f.Spend(maxPath) != nil {
			continue
		}
		if s, ok := String(f.r, names.Offset+value, maxPath); ok {
			values = append(values, s)
		}
	}
	return values
}

// maxPath is PATH_MAX, include/uapi/linux/limits.h.
const maxPath = 4096
