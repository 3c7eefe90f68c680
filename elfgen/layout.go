package elfgen

import (
	"math"
	"slices"
)

// Segment is a loaded part of the file. Its address equals its offset.
type Segment struct {
	Offset uint64 // a multiple of the page size
	Size   uint64 // bytes, in the file and in memory
	Flags  ProgFlag
}

// Image is an object that has been laid out and is becoming a file.
type Image struct {
	obj      *Object
	enc      encoding
	buf      []byte
	sections []*Section // all sections, by table index minus 1
	segments []Segment
	made     madeSections
}

// madeSections are the sections that the writer adds.
type madeSections struct {
	buildID, hash, dynsym, dynstr, dynamic, shstrtab *Section
}

// Layout assigns addresses and offsets to the sections of o and returns an image
// whose contents are zero, except for what the writer makes itself. The error joins
// everything in o that cannot be written.
func (o *Object) Layout() (*Image, error) {
	if err := o.check(); err != nil {
		return nil, errorf("lay out ELF object: %w", err)
	}
	im := &Image{obj: o, enc: newEncoding(o.Class, o.Data)}
	im.makeSections()
	if len(im.sections) >= shnLoReserve {
		return nil, errorf("lay out ELF object: %d sections are too many", len(im.sections))
	}
	end := im.assignOffsets()
	if o.Class == ELFCLASS32 && end > math.MaxUint32 || end > maxSection {
		return nil, errorf("lay out ELF object: %d bytes are too many for its class", end)
	}
	im.buf = make([]byte, end)
	im.writeHeaders()
	im.writeSymbols()
	im.writeDynamic()
	return im, nil
}

// makeSections puts the writer's own sections among the user's and numbers all of
// them.
func (im *Image) makeSections() {
	o, e := im.obj, im.enc
	word := uint64(e.wordSize())
	n := uint64(len(o.Symbols)) + 1
	strsize := uint64(1)
	if o.Soname != "" {
		strsize += uint64(len(o.Soname)) + 1
	}
	for i := range o.Symbols {
		strsize += uint64(len(o.Symbols[i].Name)) + 1
	}
	m := &im.made
	m.buildID = &Section{Name: ".note.gnu.build-id", Type: SHT_NOTE, Flags: SHF_ALLOC, Align: 4, Size: buildIDNoteSize}
	m.hash = &Section{Name: ".hash", Type: SHT_HASH, Flags: SHF_ALLOC, Align: word, Entsize: o.hashEntrySize(), Size: o.hashEntrySize() * (2 + hashBuckets(n) + n)}
	m.dynsym = &Section{Name: ".dynsym", Type: SHT_DYNSYM, Flags: SHF_ALLOC, Align: word, Entsize: e.symSize(), Size: n * e.symSize()}
	m.dynstr = &Section{Name: ".dynstr", Type: SHT_STRTAB, Flags: SHF_ALLOC, Size: strsize}
	m.dynamic = &Section{Name: ".dynamic", Type: SHT_DYNAMIC, Flags: SHF_ALLOC | SHF_WRITE, Align: word, Entsize: 2 * word, Size: im.dynamicSize()}
	m.shstrtab = &Section{Name: ".shstrtab", Type: SHT_STRTAB}

	all := append([]*Section{m.buildID, m.hash, m.dynsym, m.dynstr, m.dynamic}, o.Sections...)
	all = append(all, m.shstrtab)
	for p := readOnly; p <= notLoaded; p++ {
		for _, s := range all {
			if s.permission() == p {
				im.sections = append(im.sections, s)
			}
		}
	}

	m.shstrtab.Size = 1
	for i, s := range im.sections {
		s.index = uint32(i) + 1
		m.shstrtab.Size += uint64(len(s.Name)) + 1
	}
}

// assignOffsets gives every section its offset and returns the size of the file.
func (im *Image) assignOffsets() uint64 {
	e, page := im.enc, im.obj.pageSize()
	off := e.headerSize() + e.progSize()*im.progCount()
	current := Segment{Flags: PF_R}
	perm := readOnly
	for _, s := range im.sections {
		if p := s.permission(); p != perm {
			if perm != notLoaded {
				current.Size = off - current.Offset
				im.segments = append(im.segments, current)
			}
			perm = p
			if p != notLoaded {
				off = alignUp(off, page)
				current = Segment{Offset: off, Flags: segmentFlags[p]}
			}
		}
		off = alignUp(off+s.Skip, s.align())
		s.Offset = off
		s.Addr = 0
		if perm != notLoaded {
			s.Addr = off
		}
		off += s.Size
	}
	return alignUp(off, uint64(e.wordSize())) + e.sectionSize()*uint64(len(im.sections)+1)
}

var segmentFlags = [...]ProgFlag{
	executable: PF_R | PF_X,
	writable:   PF_R | PF_W,
}

// progCount returns the number of program headers: the segments, and
// PT_DYNAMIC, PT_NOTE and PT_GNU_STACK.
func (im *Image) progCount() uint64 {
	n := uint64(2 + 3) // read-only and writable segments are never empty
	if slices.ContainsFunc(im.sections, func(s *Section) bool { return s.permission() == executable }) {
		n++
	}
	return n
}

// Contents returns the bytes of s, one of the object's sections, for the caller to
// fill.
//
//go:noinline
func (im *Image) Contents(s *Section) []byte {
	return im.buf[s.Offset : s.Offset+s.Size : s.Offset+s.Size]
}

// Segments returns the loaded parts of the file, by ascending offset.
func (im *Image) Segments() []Segment { return im.segments }

// Finish writes the build-id, a hash of all other bytes, and returns the file.
// The image must not be changed afterwards.
func (im *Image) Finish() []byte {
	im.writeBuildID()
	return im.buf
}

func alignUp(n, align uint64) uint64 { return (n + align - 1) &^ (align - 1) }
