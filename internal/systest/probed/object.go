// Package probed writes small ELF files with probes, for tests that need neither a compiler
// nor a kernel.
package probed

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-usdt/usdt/elfgen"
	"github.com/go-usdt/usdt/notes"
)

// Site is the site of a probe or, without a provider, a function.
type Site struct {
	Provider, Name, Args string
	Code                 []byte // at the site; a nop if there is none
	With                 int    // the number, from 1 on, of an earlier site whose place it shares
	Semaphore            bool   // has one of its own
}

// Object is a shared object for x86-64.
type Object struct {
	Soname string
	Data   []byte // of a section of data
	Sites  []Site
}

// Stride is the distance from one site to the next.
const Stride = 64

// Write writes the object to a file of that name in a directory of the test.
func (o *Object) Write(t testing.TB, name string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, o.bytes(t), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func (o *Object) bytes(t testing.TB) []byte {
	const alloc = elfgen.SHF_ALLOC
	all := make([]notes.Note, 0, len(o.Sites))
	size := 0
	for _, s := range o.Sites {
		n := notes.Note{Provider: s.Provider, Name: s.Name, Args: s.Args}
		if s.Provider != "" {
			size += n.Size(notes.ELFCLASS64)
		}
		all = append(all, n)
	}
	base := &elfgen.Section{Name: notes.BaseSectionName, Type: elfgen.SHT_PROGBITS, Flags: alloc, Size: 1}
	text := &elfgen.Section{Name: ".text", Type: elfgen.SHT_PROGBITS, Flags: alloc | elfgen.SHF_EXECINSTR, Align: Stride, Size: uint64(max(len(o.Sites), 1) * Stride)}
	probes := &elfgen.Section{Name: notes.ProbeSectionName, Type: elfgen.SHT_PROGBITS, Flags: alloc | elfgen.SHF_WRITE, Align: 4, Size: uint64(4 * max(len(o.Sites), 1))}
	note := &elfgen.Section{Name: notes.SectionName, Type: elfgen.SHT_NOTE, Align: 4, Size: uint64(size)}
	data := &elfgen.Section{Name: ".comment", Type: elfgen.SHT_PROGBITS, Size: uint64(len(o.Data))}
	obj := &elfgen.Object{
		Class: elfgen.ELFCLASS64, Data: elfgen.ELFDATA2LSB, Machine: elfgen.EM_X86_64, Soname: o.Soname,
		Sections: []*elfgen.Section{base, text, probes, note, data},
	}
	for i, s := range o.Sites {
		if s.Provider == "" {
			obj.Symbols = append(obj.Symbols, elfgen.Symbol{Name: s.Name, Section: text, Offset: uint64(i * Stride), Size: Stride, Type: elfgen.STT_FUNC})
		}
	}
	img, err := obj.Layout()
	if err != nil {
		t.Fatal(err)
	}
	copy(img.Contents(data), o.Data)
	code, list := img.Contents(text), img.Contents(note)[:0]
	for i, s := range o.Sites {
		at := i
		if s.With > 0 {
			at = s.With - 1
		}
		code[i*Stride] = 0x90 // nop
		copy(code[i*Stride:], s.Code)
		code[(i+1)*Stride-1] = 0xc3 // ret
		if s.Provider == "" {
			continue
		}
		n := all[i]
		n.Location, n.Base = text.Addr+uint64(at*Stride), base.Addr
		if s.Semaphore {
			n.Semaphore = probes.Addr + uint64(4*i)
		}
		list = n.Append(list, binary.LittleEndian, notes.ELFCLASS64)
	}
	return img.Finish()
}
