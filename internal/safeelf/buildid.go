package safeelf

import "encoding/hex"

// maxBuildID is the largest number of bytes of the note with the build-id.
const maxBuildID = 4 << 10

// BuildID returns the file's GNU build-id in hexadecimal, or "" if it has none.
func (f *File) BuildID() string {
	s := f.Section(".note.gnu.build-id")
	if s == nil {
		return ""
	}
	data, err := f.Data(s, maxBuildID)
	if err != nil || len(data) < 16 {
		return ""
	}
	// An Elf_Nhdr and the owner "GNU\0"; the type is NT_GNU_BUILD_ID.
	bo := f.ByteOrder
	namesz, descsz, typ := bo.Uint32(data), bo.Uint32(data[4:]), bo.Uint32(data[8:])
	if namesz != 4 || typ != 3 || string(data[12:16]) != "GNU\x00" || uint64(descsz) > uint64(len(data)-16) {
		return ""
	}
	return hex.EncodeToString(data[16 : 16+descsz])
}
