package reader_test

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// all reads the probes of the file in data and fails the test at any error.
func all(t testing.TB, data []byte) []reader.Probe {
	t.Helper()
	f, err := reader.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []reader.Probe
	for p, err := range f.Probes() {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

func TestClassesAndByteOrders(t *testing.T) {
	for _, tt := range []struct {
		class   elf.Class
		data    elf.Data
		machine elf.Machine
	}{
		{elf.ELFCLASS64, elf.ELFDATA2LSB, elf.EM_X86_64},
		{elf.ELFCLASS64, elf.ELFDATA2MSB, elf.EM_S390},
		{elf.ELFCLASS32, elf.ELFDATA2LSB, elf.EM_386},
		{elf.ELFCLASS32, elf.ELFDATA2MSB, elf.EM_PPC},
	} {
		o := &object{class: tt.class, data: tt.data, machine: tt.machine}
		o.notes = func(o *object) []notes.Note {
			return []notes.Note{o.site("a", 4, 2, ""), o.site("b", 8, 0, "")}
		}
		data := o.build(t)
		got := all(t, data)
		if len(got) != 2 {
			t.Fatalf("%v %v: got %d probes, want 2", tt.class, tt.data, len(got))
		}
		p := got[0]
		if p.Name != "a" || p.Location != o.text.Addr+4 || p.Offset != o.text.Offset+4 || p.SiteErr != nil {
			t.Errorf("%v %v: got site %s at %#x, offset %#x, %v", tt.class, tt.data, p.Name, p.Location, p.Offset, p.SiteErr)
		}
		if p.SemaphoreOffset != o.probes.Offset+2 || p.SemaphoreErr != nil {
			t.Errorf("%v %v: got semaphore offset %#x, %v", tt.class, tt.data, p.SemaphoreOffset, p.SemaphoreErr)
		}
		if p.Machine != tt.machine || p.Class != tt.class || p.BuildID == "" {
			t.Errorf("got %v %v, build-id %q", p.Machine, p.Class, p.BuildID)
		}
	}
}

// edit returns data with the 64-bit little-endian section header of name changed.
func edit(t testing.TB, data []byte, name string, change func(s *elf.Section64)) []byte {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	out := bytes.Clone(data)
	shoff := binary.LittleEndian.Uint64(data[40:])
	for i, s := range f.Sections {
		if s.Name != name {
			continue
		}
		at := out[shoff+uint64(i)*64:]
		var h elf.Section64
		if _, err := binary.Decode(at, binary.LittleEndian, &h); err != nil {
			t.Fatal(err)
		}
		change(&h)
		if _, err := binary.Encode(at, binary.LittleEndian, &h); err != nil {
			t.Fatal(err)
		}
		return out
	}
	t.Fatalf("no section %s", name)
	return nil
}

// progs calls change for every 64-bit little-endian program header of data.
func progs(t testing.TB, data []byte, change func(p *elf.Prog64)) []byte {
	t.Helper()
	out := bytes.Clone(data)
	phoff, phnum := binary.LittleEndian.Uint64(out[32:]), binary.LittleEndian.Uint16(out[56:])
	for i := range uint64(phnum) {
		var p elf.Prog64
		at := out[phoff+i*56:]
		if _, err := binary.Decode(at, binary.LittleEndian, &p); err != nil {
			t.Fatal(err)
		}
		change(&p)
		if _, err := binary.Encode(at, binary.LittleEndian, &p); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func one(o *object) []notes.Note { return []notes.Note{o.site("a", 4, 2, "")} }

func TestPrelink(t *testing.T) {
	o := &object{notes: one}
	data := o.build(t)
	const moved = 0x41000000
	data = edit(t, data, notes.BaseSectionName, func(s *elf.Section64) { s.Addr += moved })
	data = progs(t, data, func(p *elf.Prog64) { p.Vaddr += moved })
	p := all(t, data)[0]
	if p.Delta != moved || p.Location != o.text.Addr+4 || p.Offset != o.text.Offset+4 || p.SemaphoreOffset != o.probes.Offset+2 {
		t.Errorf("got delta %#x, location %#x, offset %#x, semaphore offset %#x", p.Delta, p.Location, p.Offset, p.SemaphoreOffset)
	}
	if p.SiteErr != nil || p.SemaphoreErr != nil {
		t.Errorf("got %v, %v", p.SiteErr, p.SemaphoreErr)
	}
}

func TestCompressedNotes(t *testing.T) {
	o := &object{notes: one}
	o.build(t) // for the addresses, which do not depend on the notes' size
	raw := o.encode(o.notes(o))
	var z bytes.Buffer
	binary.Write(&z, binary.LittleEndian, elf.Chdr64{Type: uint32(elf.COMPRESS_ZLIB), Size: uint64(len(raw)), Addralign: 4})
	w := zlib.NewWriter(&z)
	w.Write(raw)
	w.Close()

	// RFC 8878: a frame of one segment with one raw block.
	var zstd bytes.Buffer
	binary.Write(&zstd, binary.LittleEndian, elf.Chdr64{Type: uint32(elf.COMPRESS_ZSTD), Size: uint64(len(raw)), Addralign: 4})
	block := uint32(len(raw)<<3 | 1)
	zstd.Write([]byte{0x28, 0xb5, 0x2f, 0xfd, 0x20, byte(len(raw)), byte(block), byte(block >> 8), byte(block >> 16)})
	zstd.Write(raw)

	unknown := bytes.Clone(z.Bytes())
	unknown[0] = 99
	for name, content := range map[string][]byte{"zlib": z.Bytes(), "zstd": zstd.Bytes(), "unknown": unknown} {
		packed := &object{rawNotes: content}
		data := edit(t, packed.build(t), notes.SectionName, func(s *elf.Section64) { s.Flags |= uint64(elf.SHF_COMPRESSED) })
		if name == "unknown" {
			if probes, errs := read(bytes.NewReader(data)); probes != 0 || errs != 1 {
				t.Errorf("%s: got %d probes and %d errors, want an error", name, probes, errs)
			}
			continue
		}
		if p := all(t, data)[0]; p.Name != "a" || p.Offset != o.text.Offset+4 {
			t.Errorf("%s: got %s at %#x", name, p.Name, p.Offset)
		}
	}

	bomb := bytes.Clone(z.Bytes())
	binary.LittleEndian.PutUint64(bomb[8:], 1<<40)
	packed := &object{rawNotes: bomb}
	data := edit(t, packed.build(t), notes.SectionName, func(s *elf.Section64) { s.Flags |= uint64(elf.SHF_COMPRESSED) })
	f, err := reader.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for p, err := range f.Probes() {
		if err == nil || !strings.Contains(err.Error(), "grows to") {
			t.Errorf("got %v, %v, want an error that names the size", p.Name, err)
		}
	}
}

func TestUnusableSites(t *testing.T) {
	o := &object{notes: func(o *object) []notes.Note {
		n := o.site("far", 4, 2, "")
		n.Location = 1 << 40
		data := o.site("data", 0, 0, "")
		data.Location, data.Semaphore = data.Semaphore, 0
		return []notes.Note{n, data}
	}}
	got := all(t, o.build(t))
	if p := got[0]; !errors.Is(p.SiteErr, reader.ErrNotLoaded) || p.Offset != 0 {
		t.Errorf("got %v, offset %#x", p.SiteErr, p.Offset)
	}
	if p := got[1]; p.SiteErr == nil || !strings.Contains(p.SiteErr.Error(), "not executable") {
		t.Errorf("got %v", p.SiteErr)
	}
}

func TestUnusableSemaphores(t *testing.T) {
	o := &object{notes: one}
	data := o.build(t)
	holds := func(p *elf.Prog64) bool {
		return elf.ProgType(p.Type) == elf.PT_LOAD && o.probes.Addr-p.Vaddr < p.Memsz
	}
	semaphore := o.probes.Addr + 2
	var front uint64 // of the code, taken for data
	for _, tt := range []struct {
		name   string
		change func(p *elf.Prog64)
		want   error
		offset uint64
	}{
		{"bss tail", func(p *elf.Prog64) {
			if holds(p) {
				p.Filesz = semaphore - p.Vaddr
			}
		}, reader.ErrBss, o.probes.Offset + 2},
		{"read-only", func(p *elf.Prog64) {
			if holds(p) {
				p.Flags = uint32(elf.PF_R)
			}
		}, reader.ErrNotWritable, o.probes.Offset + 2},
		{"relro", func(p *elf.Prog64) {
			if elf.ProgType(p.Type) == elf.PT_DYNAMIC {
				p.Type, p.Vaddr, p.Memsz = uint32(elf.PT_GNU_RELRO), o.probes.Addr&^0xfff, 0x1000
			}
		}, reader.ErrRelro, o.probes.Offset + 2},
		{"relro that ends within the page", func(p *elf.Prog64) {
			if elf.ProgType(p.Type) == elf.PT_DYNAMIC {
				p.Type, p.Vaddr, p.Memsz = uint32(elf.PT_GNU_RELRO), o.probes.Addr&^0xfff, 0xfff
			}
		}, nil, o.probes.Offset + 2},
		{"odd", func(p *elf.Prog64) {
			if holds(p) {
				p.Off++
			}
		}, reader.ErrOdd, o.probes.Offset + 3},
		{"nowhere", func(p *elf.Prog64) {
			if holds(p) {
				p.Memsz = 0
			}
		}, reader.ErrNotLoaded, 0},
		{"shared page, relro in front", func(p *elf.Prog64) { // as mold lays out
			switch {
			case elf.ProgType(p.Type) == elf.PT_LOAD && p.Flags&uint32(elf.PF_X) != 0:
				p.Flags, p.Off, p.Filesz, p.Memsz = uint32(elf.PF_R|elf.PF_W), o.probes.Offset&^0xfff, 8, 8
				front = p.Vaddr
			case elf.ProgType(p.Type) == elf.PT_DYNAMIC:
				p.Type, p.Vaddr, p.Memsz = uint32(elf.PT_GNU_RELRO), front, 0x1000
			}
		}, reader.ErrMiscounted, o.probes.Offset + 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := all(t, progs(t, data, tt.change))[0]
			if !errors.Is(p.SemaphoreErr, tt.want) || p.SemaphoreOffset != tt.offset {
				t.Errorf("got %v, offset %#x, want %v, %#x", p.SemaphoreErr, p.SemaphoreOffset, tt.want, tt.offset)
			}
		})
	}
}

func TestNotProbes(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "text")
	if err := os.WriteFile(path, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, dir, "/dev/null"} {
		if _, err := reader.Open(p); !errors.Is(err, reader.ErrNotELF) || !strings.Contains(err.Error(), p) {
			t.Errorf("Open(%s): got %v, want ErrNotELF and the path", p, err)
		}
	}
	if _, err := reader.Open(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want os.ErrNotExist", err)
	}
}

func TestRelocatable(t *testing.T) {
	data := (&object{notes: one}).build(t)
	binary.LittleEndian.PutUint16(data[16:], uint16(elf.ET_REL))
	f, err := reader.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for p, err := range f.Probes() {
		n++
		if err == nil || !strings.Contains(err.Error(), "once it is linked") {
			t.Errorf("got %v, %v", p, err)
		}
	}
	if n != 1 {
		t.Errorf("got %d results, want one error", n)
	}
}

func TestBadNoteSpoilsItselfOnly(t *testing.T) {
	o := &object{notes: one}
	o.build(t)
	good := o.encode(o.notes(o))
	bad := bytes.Clone(good)
	copy(bad[12+8+24:], "ppppppppppppppppppppppppppp"[:len(bad)-12-8-24]) // no NUL
	data := (&object{rawNotes: append(bad, good...)}).build(t)
	f, err := reader.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var errs, probes int
	for p, err := range f.Probes() {
		if err != nil {
			errs++
		} else if p.Name == "a" {
			probes++
		}
	}
	if errs != 1 || probes != 1 {
		t.Errorf("got %d errors and %d probes, want one of each", errs, probes)
	}
}

func TestCloseTwice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "o")
	if err := os.WriteFile(path, (&object{notes: one}).build(t), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := reader.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
