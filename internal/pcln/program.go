package pcln

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/go-usdt/usdt/internal/safeelf"
)

// maxTable is the largest number of bytes that are read of a table: a program of 700
// MB has 180 MB.
const maxTable = 384 << 20

// Read reads the table of a Go program. It returns nil if the file has none. It reads
// tables of inlined calls from f later. The error, which wraps [ErrFormat] if the
// program's version of Go is not known, says what is missing: the table if that is
// nil, else its inlined calls.
func Read(f *safeelf.File) (*Table, error) {
	p := &program{file: f}
	t, data, err := p.read(go116)
	if t == nil || !t.counts() {
		return t, err
	}
	words := p.module(t, data, dataSections)
	if err := p.findText(t, words); err != nil {
		return nil, err
	}
	trees := t.trees()
	if len(trees) == 0 {
		return t, nil
	}
	var ok bool
	if t.calls, ok = t.findCalls(words, trees); !ok {
		t.memory = nil
		err = fmt.Errorf("where %s has inlined calls is %w", p.version(), ErrFormat)
	}
	return t, err
}

// read reads the table, of that version at least, but not where its text is.
func (p *program) read(least version) (*Table, []byte, error) {
	data, err := p.find()
	if err != nil || data == nil && p.file.Section(".go.buildinfo") == nil {
		return nil, nil, err
	}
	t, err := New(data, p.file.ByteOrder)
	if err == nil && t.version < least {
		err = ErrFormat
	}
	if err != nil {
		return nil, nil, fmt.Errorf("the table of functions of %s is %w", p.version(), err)
	}
	t.memory, t.held = memory{p.file}, int64(len(data))
	return t, data, nil
}

// findText finds from where addresses of functions count. words belong to
// moduledata.
func (p *program) findText(t *Table, words []uint64) error {
	text, ok := p.text(t, words)
	if !ok {
		if text, ok = p.textStart(t); !ok {
			return fmt.Errorf("where the text of %s begins is %w", p.version(), ErrFormat)
		}
	}
	t.text = text
	return nil
}

// version returns the version of Go that built the program, as its build information
// has it (cmd/link/internal/ld/data.go, buildinfo, since Go 1.18).
func (p *program) version() string {
	const header = 32
	if s := p.file.Section(".go.buildinfo"); s != nil {
		var b [header + 64]byte
		n, _ := p.file.ReadAt(b[:min(len(b), int(min(s.Size, uint64(len(b)))))], int64(s.Offset))
		if b := b[:n]; bytes.HasPrefix(b, []byte("\xff Go buildinf:")) && n > header {
			size, skip := binary.Uvarint(b[header:])
			if b = b[header+max(skip, 0):]; skip > 0 && size > 0 && size <= uint64(len(b)) {
				return string(b[:size])
			}
		}
	}
	return "this version of Go"
}

// find returns the table's bytes, nil if there is none.
func (p *program) find() ([]byte, error) {
	for _, name := range []string{".gopclntab", ".data.rel.ro.gopclntab"} {
		if s := p.file.Section(name); s != nil {
			data, err := p.file.Data(s, maxTable)
			if err != nil {
				return nil, err
			}
			p.header = s.Addr
			if s.Flags&elf.SHF_WRITE != 0 {
				p.relocate(s.Addr, data)
			}
			return data, nil
		}
	}
	// Another linker than Go's makes one section of those in position-independent
	// executables that the dynamic linker changes.
	s := p.file.Section(".data.rel.ro")
	if s == nil || p.file.Section(".go.buildinfo") == nil {
		return nil, nil
	}
	data, err := p.file.Data(s, maxTable)
	if err != nil {
		return nil, err
	}
	for at := 0; at+16 <= len(data); at += 8 {
		if isHeader(data[at:], p.file.ByteOrder) {
			p.header = s.Addr + uint64(at)
			p.relocate(s.Addr, data)
			return data[at:], nil
		}
	}
	return nil, nil
}

// Size returns the number of bytes of memory that the table takes.
func (t *Table) Size() int64 {
	if t == nil {
		return 0
	}
	return t.held
}

// memory reads what a program has at an address.
type memory struct{ f *safeelf.File }

func (m memory) ReadAt(b []byte, addr int64) (int, error) {
	for i := range m.f.Progs {
		p := &m.f.Progs[i]
		if off := uint64(addr) - p.Vaddr; p.Type == elf.PT_LOAD && off < p.Filesz && uint64(len(b)) <= p.Filesz-off {
			return m.f.ReadAt(b, int64(p.Off+off))
		}
	}
	return 0, io.ErrUnexpectedEOF
}

// program is what says where a program has its text.
type program struct {
	file   *safeelf.File
	header uint64 // the address of the table
}

func (p *program) isCode(addr uint64) bool {
	for i := range p.file.Sections {
		if s := &p.file.Sections[i]; s.Flags&elf.SHF_EXECINSTR != 0 && addr-s.Addr <= s.Size {
			return true
		}
	}
	return false
}

// textStart returns where the text begins as the header of the table says, until Go
// 1.25, or the symbol-less guess that .text begins with it.
func (p *program) textStart(t *Table) (uint64, bool) {
	var b [8]byte
	if _, err := (memory{p.file}).ReadAt(b[:t.ptr], int64(p.header+uint64(8+2*t.ptr))); err == nil {
		if addr := t.word(b[:], t.ptr); addr != 0 && p.isCode(addr) {
			return addr, true
		}
	}
	if s := p.file.Section(".text"); s != nil {
		t.text = s.Addr
		// A wrong guess would give wrong names: the program's entry must be a function.
		if i, ok := t.search(p.file.Entry); ok && t.entry(i)+t.text == p.file.Entry {
			return s.Addr, true
		}
	}
	return 0, false
}
