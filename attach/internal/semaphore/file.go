package semaphore

import (
	"bytes"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/safeelf"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// File is what keeping count needs to know about a file.
type File struct {
	// Starts are instructions, one of which every process executes after the file's
	// segments are what they stay, and before anything looks at semaphores.
	Starts []Start
	// Library says that a process may map the file more than once.
	Library bool

	counters []counter
	ip       int16 // of the instruction pointer in a program's context
	machine  elf.Machine
	id       procfs.ID // in memory maps
	buildID  buildID
	code     elf.ProgHeader // the segment with the code
}

// Start is an instruction.
type Start struct{ Offset, Address uint64 }

// counter is a semaphore with the copies of its sites.
type counter struct {
	address uint64
	offset  uint64 // in the file
	places  []place
}

// buildID is where a file's build-id is, and what it is.
type buildID struct {
	address uint64
	id      []byte // empty if the file has none
}

// buildIDOf returns a file's build-id in its memory.
func buildIDOf(f *safeelf.File) (b buildID) {
	if s := f.Section(".note.gnu.build-id"); s != nil && s.Flags&elf.SHF_ALLOC != 0 {
		b.address = s.Addr + 16 // behind an Elf_Nhdr and the owner
		b.id, _ = hex.DecodeString(f.BuildID())
	}
	return b
}

// place is the first byte of an instruction that may be replaced by a breakpoint.
type place struct {
	address  uint64
	original byte
}

// maxPlaces bounds the size of the program.
const maxPlaces = 20_000

var errNoStart = errors.New("no instruction is known that each process executes first")

// Read reads what concerns the semaphores at the offsets. It returns nil if the kernel
// counts right: unless it miscounts anyway, that is so where no library can be mapped
// twice and seen.
func Read(o *operand.Object, offsets map[uint64]bool, miscounted bool) (*File, error) {
	registers, err := operand.HostRegisters(o.ELF.Machine, o.ELF.Class)
	if err != nil {
		return nil, err
	}
	f := &File{ip: registers.IP, machine: o.ELF.Machine}
	f.Starts, f.Library = starts(o)
	switch {
	case !miscounted && (!f.Library || len(f.Starts) == 0):
		return nil, nil
	case len(f.Starts) == 0:
		return nil, errNoStart
	}
	if f.id, err = procfs.MappedID(o.File); err != nil {
		return nil, err
	}
	f.buildID = buildIDOf(o.ELF)
	if i := slices.IndexFunc(o.ELF.Progs, isCode); i >= 0 {
		f.code = o.ELF.Progs[i]
	}
	file, err := reader.NewFile(o.File)
	if err != nil {
		return nil, err
	}
	at, places := map[uint64]int{}, 0
	for p, err := range file.Probes() {
		if err != nil || p.SiteErr != nil || !offsets[p.SemaphoreOffset] {
			continue
		}
		i, known := at[p.SemaphoreOffset]
		if !known {
			i = len(f.counters)
			at[p.SemaphoreOffset] = i
			f.counters = append(f.counters, counter{address: p.Semaphore + p.Delta, offset: p.SemaphoreOffset})
		}
		c := &f.counters[i]
		for _, pl := range placesOf(o, p.Offset) {
			if !slices.Contains(c.places, pl) { // two notes may have one site
				c.places = append(c.places, pl)
				places++
			}
		}
		if places > maxPlaces {
			return nil, fmt.Errorf("the file has more than %d copies of sites", maxPlaces)
		}
	}
	return f, nil
}

// placesOf returns the copies of a site, and of the instruction behind a one-byte
// nop that tracers may prefer.
func placesOf(o *operand.Object, off uint64) (all []place) {
	code := bytes.Clone(o.BytesAt(off, maxNops))
	if len(code) == 0 {
		return nil
	}
	firsts := code[:1]
	if notes.SiteKindOf(notes.Machine(o.ELF.Machine), o.ELF.ByteOrder, code).Double() {
		firsts = code[:2]
	}
	for i := range o.ELF.Progs {
		p := &o.ELF.Progs[i]
		// Memory behind the data of a writable segment is cleared.
		cleared := p.Flags&elf.PF_W != 0 && off >= p.Off+p.Filesz
		if addr, ok := copyIn(p, off); ok && p.Type == elf.PT_LOAD && !cleared {
			for n, b := range firsts {
				all = append(all, place{addr + uint64(n), b})
			}
		}
	}
	return all
}

func isCode(p elf.ProgHeader) bool { return p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 }

// maxNops is the size of the longest site that is known.
const maxNops = 11

// pageSize is the smallest page of a supported architecture.
const pageSize = 4096

// copyIn returns the address of the byte at an offset in the pages that map p.
func copyIn(p *elf.ProgHeader, off uint64) (addr uint64, ok bool) {
	start := p.Off &^ (pageSize - 1)
	if p.Filesz == 0 || off < start || off >= (p.Off+p.Filesz+pageSize-1)&^(pageSize-1) {
		return 0, false
	}
	return p.Vaddr - p.Off + off, true
}

// starts returns the entry of a program, which the dynamic linker reaches last, or the
// function that it calls when it has loaded a library. RELRO has been applied by then.
// library says that it is no program.
func starts(o *operand.Object) (all []Start, library bool) {
	dynamic := dynamicOf(o.ELF)
	program := o.ELF.Type == elf.ET_EXEC || dynamic[elf.DT_FLAGS_1]&uint64(elf.DF_1_PIE) != 0
	interpreted := slices.ContainsFunc(o.ELF.Progs, func(p elf.ProgHeader) bool { return p.Type == elf.PT_INTERP })
	if program || interpreted {
		all = appendStart(all, o, o.ELF.Entry)
	}
	if !program { // some libraries are programs as well
		all = appendStart(all, o, dynamic[elf.DT_INIT])
	}
	return all, !program && !interpreted
}

func appendStart(all []Start, o *operand.Object, addr uint64) []Start {
	for i := range o.ELF.Progs {
		p := &o.ELF.Progs[i]
		if !isCode(*p) || addr < p.Vaddr || addr-p.Vaddr >= p.Filesz {
			continue
		}
		s := Start{p.Off + addr - p.Vaddr, addr}
		if isStart(o.ELF.Machine, o.BytesAt(s.Offset, 4)) {
			all = append(all, s)
		}
	}
	return all
}

// isStart reports whether code begins with an instruction with which start files of
// C libraries begin, and which the kernel can replace without harm.
func isStart(m elf.Machine, code []byte) bool {
	if m == elf.EM_AARCH64 {
		return len(code) == 4 && (code[3] == 0xd5 && code[2] == 0x03 || // nop, bti, paciasp
			bytes.Equal(code, []byte{0x1d, 0x00, 0x80, 0xd2}) || // mov x29, #0
			bytes.Equal(code, []byte{0xfd, 0x7b, 0xbf, 0xa9})) // stp x29, x30, [sp, #-16]!
	}
	for _, first := range [][]byte{
		{0xf3, 0x0f, 0x1e, 0xfa}, {0xf3, 0x0f, 0x1e, 0xfb}, // endbr64, endbr32
		{0x31, 0xed}, {0x48, 0x31, 0xed}, // xor %ebp,%ebp; xor %rbp,%rbp
		{0x48, 0x83, 0xec}, {0x83, 0xec}, // sub $N,%rsp; sub $N,%esp
		{0x50}, {0x53}, {0x55}, // push %rax, %rbx, %rbp
	} {
		if bytes.HasPrefix(code, first) {
			return true
		}
	}
	return false
}

// maxDynamic bounds what is read of the dynamic section.
const maxDynamic = 64 << 10

// dynamicOf returns the values of the dynamic section.
func dynamicOf(f *safeelf.File) map[elf.DynTag]uint64 {
	values := map[elf.DynTag]uint64{}
	for i := range f.Progs {
		p := &f.Progs[i]
		if p.Type != elf.PT_DYNAMIC {
			continue
		}
		data := make([]byte, min(p.Filesz, maxDynamic))
		n, _ := f.ReadAt(data, int64(p.Off))
		for data = data[:n]; len(data) > 0; {
			var tag, value uint64
			switch {
			case f.Class == elf.ELFCLASS64 && len(data) >= 16:
				tag, value, data = f.ByteOrder.Uint64(data), f.ByteOrder.Uint64(data[8:]), data[16:]
			case f.Class == elf.ELFCLASS32 && len(data) >= 8:
				tag, value, data = uint64(f.ByteOrder.Uint32(data)), uint64(f.ByteOrder.Uint32(data[4:])), data[8:]
			default:
				return values
			}
			if elf.DynTag(tag) == elf.DT_NULL {
				return values
			}
			values[elf.DynTag(tag)] = value
		}
	}
	return values
}
