package provider

import (
	"encoding/binary"
	"os"
	"strings"

	"github.com/go-usdt/usdt/elfgen"
	"github.com/go-usdt/usdt/internal/stub"
	"github.com/go-usdt/usdt/notes"
)

// order is the byte order of every machine that has stubs.
var order = binary.LittleEndian

// semaphoreSize is the distance from one semaphore to the next: the kernel counts in
// 16 bits, Go reads 32 at once.
const semaphoreSize = 4

// image is a provider's ELF object, which knows where its probes are.
type image struct {
	bytes         []byte
	buildID       string
	segments      []elfgen.Segment
	stubs, probes *elfgen.Section
	code          stub.Code
	slots         []uint32 // the number of each probe's semaphore
	semaphores    int
}

// site and semaphore return the addresses of probe i's site and semaphore in the
// object.
func (im *image) site(i int) uint64      { return im.stubs.Addr + uint64(i)*im.code.Stride }
func (im *image) semaphore(i int) uint64 { return im.probes.Addr + uint64(im.slots[i])*semaphoreSize }

// assignSemaphores numbers the semaphores: one for each name, as in C, since bcc raises the
// semaphore of a name's first probe only, and one for each group. A group that shares a
// name shares the semaphore. It returns how many there are.
func assignSemaphores(probes []*probe) (slots []uint32, n uint64) {
	same := make([]int, len(probes)) // leads to an earlier probe with the same semaphore, or to itself
	first := func(i int) int {
		for same[i] != i {
			i = same[i]
		}
		return i
	}
	groups := map[*Group]int{}
	for i, p := range probes {
		same[i] = i
		if i > 0 && probes[i-1].name == p.name {
			same[i] = first(i - 1)
		}
		if !p.group.shares() {
			continue
		}
		if member, ok := groups[p.group]; ok {
			a, b := first(i), first(member)
			same[max(a, b)] = min(a, b)
		} else {
			groups[p.group] = i
		}
	}
	slots = make([]uint32, len(probes))
	for i := range probes {
		if f := first(i); f < i {
			slots[i] = slots[f]
		} else {
			slots[i] = uint32(n)
			n++
		}
	}
	return slots, n
}

// newImage builds the object for probes, which must be sorted by name and have
// signatures. Equal arguments give equal bytes.
func newImage(provider string, code stub.Code, probes []*probe) (*image, error) {
	ids, types, err := signatureTypes(probes)
	if err != nil {
		return nil, err
	}
	records := make([]notes.TypeRecord, len(probes))
	noteSize := 0
	for i, p := range probes {
		records[i] = typeRecord(provider, code, p, ids[p.sig.key])
		n := notes.Note{Provider: provider, Name: p.name, Args: p.sig.note}
		noteSize += n.Size(notes.ELFCLASS64)
	}

	// bcc looks for the first executable section, then for .probes and then
	// for .note.stapsdt, without ever going back (bcc_elf.c: list_in_scn).
	im := &image{code: code}
	slots, semaphores := assignSemaphores(probes)
	im.slots, im.semaphores = slots, int(semaphores)
	at := beginningOf(provider, code, probes, slots)
	base := section(notes.BaseSectionName, elfgen.SHT_PROGBITS, elfgen.SHF_ALLOC, 1, 1)
	im.stubs = section(".text", elfgen.SHT_PROGBITS, elfgen.SHF_ALLOC|elfgen.SHF_EXECINSTR, stubAlign, uint64(len(probes))*code.Stride)
	im.probes = section(notes.ProbeSectionName, elfgen.SHT_PROGBITS, elfgen.SHF_ALLOC|elfgen.SHF_WRITE, semaphoreSize, semaphores*semaphoreSize+stub.RowPadding)
	im.stubs.Skip, im.probes.Skip = at.stubs, at.semaphores
	note := section(notes.SectionName, elfgen.SHT_NOTE, 0, 4, uint64(noteSize))
	typeSection := section(notes.TypesSectionName, elfgen.SHT_PROGBITS, 0, 8, uint64(notes.TypesSize(records)))
	obj := &elfgen.Object{
		Class: elfgen.ELFCLASS64, Data: elfgen.ELFDATA2LSB, Machine: elfgen.Machine(stub.Machine),
		Soname:   "usdt-" + provider + ".so",
		PageSize: uint64(os.Getpagesize()),
		Sections: []*elfgen.Section{base, im.stubs, im.probes, note, typeSection},
		Symbols:  stubSymbols(provider, code, im.stubs, probes),
	}
	var btfSection *elfgen.Section
	if len(types) > 0 {
		btfSection = section(".BTF", elfgen.SHT_PROGBITS, 0, 8, uint64(len(types)))
		obj.Sections = append(obj.Sections, btfSection)
	}
	img, err := obj.Layout()
	if err != nil {
		return nil, err
	}

	stubs := img.Contents(im.stubs)
	noteBytes := img.Contents(note)[:0]
	for i, p := range probes {
		copy(stubs[uint64(i)*code.Stride:], code.Bytes)
		records[i].Location, records[i].Semaphore = im.site(i), im.semaphore(i)
		noteBytes = notes.Note{
			Provider: provider, Name: p.name, Args: p.sig.note,
			Location: im.site(i), Base: base.Addr, Semaphore: im.semaphore(i),
		}.Append(noteBytes, order, notes.ELFCLASS64)
	}
	notes.AppendTypes(img.Contents(typeSection)[:0], order, records)
	if btfSection != nil {
		copy(img.Contents(btfSection), types)
	}
	im.bytes, im.segments, im.buildID = img.Finish(), img.Segments(), img.BuildID()
	return im, nil
}

func section(name string, typ elfgen.SectionType, flags elfgen.SectionFlag, align, size uint64) *elfgen.Section {
	return &elfgen.Section{Name: name, Type: typ, Flags: flags, Align: align, Size: size}
}

// signatureTypes returns the BTF for the signatures of probes, and by its key the type
// id of each signature there. Signatures without arguments have none.
func signatureTypes(probes []*probe) (map[string]uint32, []byte, error) {
	ids := map[string]uint32{}
	var sigs []*signature
	for _, p := range probes {
		if _, ok := ids[p.sig.key]; !ok && p.sig.typ != nil {
			ids[p.sig.key] = 0
			sigs = append(sigs, p.sig)
		}
	}
	sortFunc(sigs, func(a, b *signature) int { return strings.Compare(a.key, b.key) })
	raw, err := marshalTypes(sigs)
	for i, s := range sigs {
		ids[s.key] = uint32(i + 1)
	}
	return ids, raw, err
}

// typeRecord returns the probe's record without its addresses.
func typeRecord(provider string, code stub.Code, p *probe, id uint32) notes.TypeRecord {
	r := notes.TypeRecord{
		Provider: provider, Name: p.name,
		BlockReg: notes.NoBlock,
		Flags:    notes.CalledStub | notes.GoroutineRegister,
		Site:     code.Site,
	}
	if p.sig.ipv4 != 0 {
		r.Flags |= notes.IPv4Register
	}
	if p.sig.typ != nil {
		r.Type, r.BlockSize, r.BlockReg = id, p.sig.typ.Bytes, stub.BlockReg
	}
	return r
}

// stubSymbols names each stub PROVIDER__NAME, for profiles and debuggers.
func stubSymbols(provider string, code stub.Code, stubs *elfgen.Section, probes []*probe) []elfgen.Symbol {
	symbols := make([]elfgen.Symbol, len(probes))
	for i, p := range probes {
		symbols[i] = elfgen.Symbol{
			Name:    provider + "__" + p.name,
			Section: stubs,
			Offset:  uint64(i) * code.Stride,
			Size:    uint64(len(code.Bytes)),
			Type:    elfgen.STT_FUNC,
		}
	}
	return symbols
}

// beginning says where the stubs and semaphores of an object begin in their pages.
type beginning struct {
	stubs      uint64 // bytes that stay free before the stubs, a multiple of 16
	semaphores uint64 // bytes that stay free before the semaphores
}

// beginningOf derives the beginning from the contents of an object: from the site and
// from each probe's name, arguments and semaphore.
//
// A uprobe that Linux has leaked (see package shield) keeps the instruction that it
// replaced. Every later file whose inode gets the same address finds this uprobe at
// the same offset. So objects of different contents should have no offset in common.
// Two objects may share the offset of a site all the same. If both have their stubs
// in one page and no groups, the semaphores of that site then also share an offset: the kernel
// compares it and would refuse a tracer if it differed (kernel/events/uprobes.c: alloc_uprobe).
//
// The stubs take no more pages than they need, since the semaphores come behind them.
func beginningOf(provider string, code stub.Code, probes []*probe, slots []uint32) beginning {
	h := fnv1a(fnvOffset, code.Bytes)
	h = fnv1a(h, provider)
	for i, p := range probes {
		h = fnv1a(h, order.AppendUint32([]byte{0}, slots[i]))
		h = fnv1a(h, p.name)
		h = fnv1a(h, " ")
		h = fnv1a(h, p.sig.note)
	}
	page := uint64(os.Getpagesize())
	free := -(uint64(len(probes)) * code.Stride) % page // in the last page of the stubs
	stubs := h % (free/stubAlign + 1) * stubAlign
	return beginning{stubs: stubs, semaphores: stubs / code.Stride * semaphoreSize}
}

// stubAlign is a multiple of every stride, so that stubs never cross a page.
const stubAlign = 16

// Constants of 64-bit FNV-1a (draft-eastlake-fnv, section 5). Package hash/fnv takes
// only bytes, so that each string would have to be converted.
const (
	fnvOffset = 0xcbf29ce484222325
	fnvPrime  = 0x100000001b3
)

// fnv1a continues the hash h with s.
func fnv1a[T string | []byte](h uint64, s T) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * fnvPrime
	}
	return h
}
