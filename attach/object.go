package attach

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"

	"github.com/go-usdt/usdt/internal/safeelf"
)

// maxSymbols bytes of one symbol table or of its strings; libjvm with full
// symbols has about 10 MB.
const maxSymbols = 512 << 20

// object is what attaching needs to know of an ELF file beyond its probes.
// What costs time is read when it is first asked for.
type object struct {
	file *os.File
	elf  *safeelf.File

	symbols    map[string]symbol
	symbolsErr error

	window      []byte // part of the file, from windowStart on
	windowStart uint64
}

// windowSize bytes of the file are read at a time: sites lie close together.
const windowSize = 64 << 10

type symbol struct {
	addr      uint64
	ambiguous bool
}

func openObject(path string) (*object, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	var e *safeelf.File
	if err == nil {
		e, err = safeelf.NewFile(f)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &object{file: f, elf: e}, nil
}

func (o *object) Close() error { return o.file.Close() }

// relocatable says that the object's addresses are known only at run time.
func (o *object) relocatable() bool { return o.elf.Type != elf.ET_EXEC }

// bytesAt returns up to n bytes of the file at off: fewer at its end. They are
// good until the next call.
func (o *object) bytesAt(off uint64, n int) []byte {
	in := off - o.windowStart
	if off < o.windowStart || in > uint64(len(o.window)) || uint64(len(o.window))-in < uint64(n) {
		if o.window == nil {
			o.window = make([]byte, windowSize)
		}
		got, _ := o.file.ReadAt(o.window[:windowSize], int64(off))
		o.window, o.windowStart, in = o.window[:got], off, 0
	}
	return o.window[in:min(in+uint64(n), uint64(len(o.window)))]
}

// symbol returns the link-time address of the symbol name.
func (o *object) symbol(name string) (uint64, error) {
	if o.symbols == nil && o.symbolsErr == nil {
		o.symbols, o.symbolsErr = readSymbols(o.elf)
	}
	if o.symbolsErr != nil {
		return 0, o.symbolsErr
	}
	s, ok := o.symbols[name]
	switch {
	case !ok:
		return 0, fmt.Errorf("symbol %s is not in the object's symbol tables (stripped, or local to the assembler)", name)
	case s.ambiguous:
		return 0, fmt.Errorf("symbol %s is ambiguous: the object has several local ones", name)
	}
	return s.addr, nil
}

// got returns the link-time address that @GOTOFF counts from.
func (o *object) got() (uint64, error) {
	for _, name := range []string{".got.plt", ".got"} {
		if s := o.elf.Section(name); s != nil {
			return s.Addr, nil
		}
	}
	return 0, errors.New("object has no global offset table, which @GOTOFF counts from")
}

// readSymbols reads the defined symbols of .symtab and .dynsym. A global symbol
// wins over local ones of its name.
func readSymbols(f *safeelf.File) (map[string]symbol, error) {
	all := map[string]symbol{}
	for _, table := range []string{".symtab", ".dynsym"} {
		s := f.Section(table)
		if s == nil || int(s.Link) >= len(f.Sections) {
			continue
		}
		data, err := f.Data(s, maxSymbols)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", table, err)
		}
		names, err := f.Data(&f.Sections[s.Link], maxSymbols)
		if err != nil {
			return nil, fmt.Errorf("read names of %s: %w", table, err)
		}
		addSymbols(all, f, data, names)
	}
	return all, nil
}

func addSymbols(all map[string]symbol, f *safeelf.File, data, names []byte) {
	global := map[string]bool{}
	size := 24 // sizeof(Elf64_Sym)
	if f.Class == elf.ELFCLASS32 {
		size = 16
	}
	for ; len(data) >= size; data = data[size:] {
		name, info, shndx := f.ByteOrder.Uint32(data), data[4], f.ByteOrder.Uint16(data[6:])
		var addr uint64
		if f.Class == elf.ELFCLASS32 {
			addr, info, shndx = uint64(f.ByteOrder.Uint32(data[4:])), data[12], f.ByteOrder.Uint16(data[14:])
		} else {
			addr = f.ByteOrder.Uint64(data[8:])
		}
		typ := elf.ST_TYPE(info)
		if shndx == uint16(elf.SHN_UNDEF) || typ == elf.STT_TLS || typ == elf.STT_FILE || typ == elf.STT_SECTION {
			continue
		}
		s := cString(names, name)
		if s == "" {
			continue
		}
		old, seen := all[s]
		switch {
		case elf.ST_BIND(info) != elf.STB_LOCAL:
			all[s], global[s] = symbol{addr: addr}, true
		case !seen:
			all[s] = symbol{addr: addr}
		case !global[s] && old.addr != addr:
			all[s] = symbol{ambiguous: true}
		}
	}
}

func cString(b []byte, off uint32) string {
	if uint64(off) >= uint64(len(b)) {
		return ""
	}
	b = b[off:]
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return ""
}
