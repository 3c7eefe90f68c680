package elfsym

import (
	"bytes"
	"debug/elf"

	"github.com/go-usdt/usdt/internal/safeelf"
)

// Interfaces are what a Go program's symbols say of values in interfaces.
type Interfaces struct {
	Tables []Itab
	Types  uint64 // where descriptions of types begin; 0 if that is not known
}

// Itab is a table by which a value in an interface finds its methods (runtime.itab).
type Itab struct {
	Name    string // TYPE,INTERFACE, with whole paths of packages
	Address uint64
}

// maxItabs bounds the tables of a program.
const maxItabs = 1 << 15

// ReadInterfaces reads the symbols of SHT_SYMTAB. It returns none without such a section.
func ReadInterfaces(f *safeelf.File) (out Interfaces, err error) {
	if f.Class != elf.ELFCLASS64 {
		return out, nil
	}
	data, size, of, err := rawSymbols(f, elf.SHT_SYMTAB)
	if of == nil || err != nil {
		return out, err
	}
	names, err := f.Data(of, maxSymbols) // in memory, so that they are less than a table may read
	if err != nil {
		return out, err
	}
	for ; len(data) >= size && len(out.Tables) < maxItabs; data = data[size:] {
		if elf.ST_TYPE(data[4]) != elf.STT_OBJECT { // as the linker makes of all data
			continue
		}
		at := uint64(f.ByteOrder.Uint32(data))
		if at >= uint64(len(names)) {
			continue
		}
		name, address := names[at:], f.ByteOrder.Uint64(data[8:])
		switch {
		case bytes.HasPrefix(name, []byte("runtime.types\x00")):
			out.Types = address
		case bytes.HasPrefix(name, []byte("go:itab.")), bytes.HasPrefix(name, []byte("go.itab.")): // the latter up to Go 1.19
			name = name[len("go:itab."):]
			if end := bytes.IndexByte(name[:min(len(name), MaxName)], 0); end > 0 {
				out.Tables = append(out.Tables, Itab{string(name[:end]), address})
			}
		}
	}
	return out, nil
}
