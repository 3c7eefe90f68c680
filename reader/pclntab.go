package reader

import (
	"debug/gosym"
)

// pclntab is the table of functions in a Go program, which stripping leaves.
type pclntab struct{ table *gosym.Table }

// readPclntab reads .gopclntab, nil without one that is understood. Package
// gosym trusts its input, so that it runs behind a recover and only when the
// number of functions is one for which the section has room.
func (f *File) readPclntab() (t *pclntab) {
	s := f.elf.Section(".gopclntab")
	if s == nil {
		return nil
	}
	data, err := f.elf.Data(s, maxSymbols)
	if err != nil || len(data) < 16 {
		return nil
	}
	// runtime/symtab.go: pcHeader
	var count uint64
	switch ptrSize := data[7]; ptrSize {
	case 4:
		count = uint64(f.elf.ByteOrder.Uint32(data[8:]))
	case 8:
		count = f.elf.ByteOrder.Uint64(data[8:])
	default:
		return nil
	}
	if count > uint64(len(data))/8 {
		return nil
	}
	text := uint64(0)
	if s := f.elf.Section(".text"); s != nil {
		text = s.Addr
	}
	defer func() {
		if recover() != nil {
			t = nil
		}
	}()
	table, err := gosym.NewTable(nil, gosym.NewLineTable(data, text))
	if err != nil {
		return nil
	}
	return &pclntab{table}
}

func (t *pclntab) function(addr uint64) (name string, start uint64, ok bool) {
	if t == nil {
		return "", 0, false
	}
	defer func() {
		if recover() != nil {
			name, start, ok = "", 0, false
		}
	}()
	fn := t.table.PCToFunc(addr)
	if fn == nil {
		return "", 0, false
	}
	return fn.Name, fn.Entry, true
}
