package reader

import (
	"debug/elf"

	"github.com/go-usdt/usdt/internal/safeelf"
)

// hiddenVersion is set in the index of a version that is not a symbol's default one
// (LSB, symbol versioning).
const hiddenVersion = 0x8000

// maxVersions is the largest number of bytes of a section about versions, and of
// versions.
const maxVersions = 16 << 20

// readVersions reads the versions that the object defines, and returns the contents of
// .gnu.version: an index for each symbol. If the object defines none, symbols have no versions.
func (t *symtab) readVersions(f *safeelf.File) (indices []byte) {
	defs := f.Section(".gnu.version_d")
	s := f.Section(".gnu.version")
	if defs == nil || s == nil || defs.Type != elf.SHT_GNU_VERDEF {
		return nil
	}
	data, err := f.Data(defs, maxVersions)
	if err != nil {
		return nil
	}
	if indices, err = f.Data(s, maxVersions); err != nil {
		return nil
	}
	bo := f.ByteOrder
	t.versions = map[uint16]string{}
	for len(data) >= 20 && len(t.versions) < 1<<15 { // Elf32_Verdef and Elf64_Verdef are the same
		index, aux, next := bo.Uint16(data[4:]), bo.Uint32(data[12:]), bo.Uint32(data[16:])
		if uint64(aux)+8 <= uint64(len(data)) { // Elf_Verdaux
			t.versions[index&^hiddenVersion] = t.name(&symbol{name: bo.Uint32(data[aux:])})
		}
		if next < 20 || uint64(next) > uint64(len(data)) {
			break
		}
		data = data[next:]
	}
	return indices
}

// versionOf returns the version of a symbol, with the marks that GNU's tools put before
// it: "@@GLIBC_2.34" for the default one, "@GLIBC_2.2.5" for others.
func (t *symtab) versionOf(s *symbol) string {
	name := t.versions[s.version&^hiddenVersion]
	switch {
	case name == "" || s.version&^hiddenVersion < 2: // VER_NDX_LOCAL, VER_NDX_GLOBAL
		return ""
	case s.version&hiddenVersion != 0:
		return "@" + name
	}
	return "@@" + name
}
