package reader_test

import (
	"debug/elf"
	"encoding/binary"
	"testing"

	"github.com/go-usdt/usdt/elfgen"
	"github.com/go-usdt/usdt/notes"
)

// object is an ELF object for tests.
type object struct {
	class   elf.Class
	data    elf.Data
	machine elf.Machine

	notes     func(o *object) []notes.Note // called once addresses are known
	noteFlags elfgen.SectionFlag
	rawNotes  []byte            // instead of notes, if not nil
	sections  map[string][]byte // more sections

	text, probes, base *elfgen.Section
}

func (o *object) order() binary.AppendByteOrder {
	if o.data == elf.ELFDATA2MSB {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

func (o *object) encode(ns []notes.Note) []byte {
	var b []byte
	for _, n := range ns {
		b = n.Append(b, o.order(), notes.Class(o.class))
	}
	return b
}

// build returns the file.
func (o *object) build(t testing.TB) []byte {
	t.Helper()
	if o.class == 0 {
		o.class, o.data, o.machine = elf.ELFCLASS64, elf.ELFDATA2LSB, elf.EM_X86_64
	}
	o.base = &elfgen.Section{Name: notes.BaseSectionName, Type: elfgen.SHT_PROGBITS, Flags: elfgen.SHF_ALLOC, Size: 1}
	o.text = &elfgen.Section{Name: ".text", Type: elfgen.SHT_PROGBITS, Flags: elfgen.SHF_ALLOC | elfgen.SHF_EXECINSTR, Align: 16, Size: 64}
	o.probes = &elfgen.Section{Name: notes.ProbeSectionName, Type: elfgen.SHT_PROGBITS, Flags: elfgen.SHF_ALLOC | elfgen.SHF_WRITE, Align: 4, Size: 16}
	content := o.rawNotes
	if content == nil {
		content = o.encode(o.notes(o)) // for their size
	}
	note := &elfgen.Section{Name: notes.SectionName, Type: elfgen.SHT_NOTE, Flags: o.noteFlags, Align: 4, Size: uint64(len(content))}
	obj := &elfgen.Object{Class: elfgen.Class(o.class), Data: elfgen.Data(o.data), Machine: elfgen.Machine(o.machine), Sections: []*elfgen.Section{o.base, o.text, o.probes, note}}
	more := map[*elfgen.Section][]byte{}
	for name, data := range o.sections {
		s := &elfgen.Section{Name: name, Type: elfgen.SHT_PROGBITS, Align: 8, Size: uint64(len(data))}
		obj.Sections = append(obj.Sections, s)
		more[s] = data
	}
	img, err := obj.Layout()
	if err != nil {
		t.Fatal(err)
	}
	if o.rawNotes == nil {
		content = o.encode(o.notes(o))
	}
	copy(img.Contents(note), content)
	for s, data := range more {
		copy(img.Contents(s), data)
	}
	return img.Finish()
}

// site returns a probe with a semaphore at the given offsets in .text and .probes.
func (o *object) site(name string, at, semaphore uint64, args string) notes.Note {
	return notes.Note{
		Provider: "p", Name: name,
		Location: o.text.Addr + at, Base: o.base.Addr, Semaphore: o.probes.Addr + semaphore,
		Args: args,
	}
}
