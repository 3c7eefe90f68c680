package reader_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/safeelf"
	"github.com/go-usdt/usdt/internal/systest/turns"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// everything reads all that the package can read of a file, and returns its number of
// probes and functions and the errors.
func everything(r io.ReaderAt) (probes, functions int, errs []error) {
	f, err := reader.NewFile(r)
	if err != nil {
		return 0, 0, []error{err}
	}
	defer f.Close()
	for p, err := range f.Probes() {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		probes++
		p.Function()
		p.Site()
		for _, a := range p.Arguments() {
			p.Resolve(&a)
		}
	}
	for fn, err := range f.Functions() {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		functions++
		fn.Match(func(string) bool { return false })
	}
	f.Slot("puts")
	f.OwnSlot(0x1004)
	f.Instruction(0x1004)
	return probes, functions, errs
}

// counted counts the bytes that are read.
type counted struct {
	r *bytes.Reader
	n uint64
}

func (c *counted) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.r.ReadAt(p, off)
	c.n += uint64(n)
	return n, err
}

func (c *counted) Size() int64 { return c.r.Size() }

// withinBudget reads everything of a file and fails the test if that costs more than
// the file's size justifies: bytes that are read, memory, time and errors. The time is the best
// of three, because machines are noisy, and the processor's. It reports whether the file asked for more.
func withinBudget(t *testing.T, data []byte) (exceeds bool) {
	t.Helper()
	most := safeelf.Allowance(uint64(len(data)))
	r := &counted{r: bytes.NewReader(data)}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var probes, functions int
	var errs []error
	took := turns.Spent(func() { probes, functions, errs = everything(r) })
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 8*most && slowdown == 1 {
		t.Errorf("a file of %d bytes: allocated %d bytes, more than %d", len(data), allocated, 8*most)
	}
	// Windows of notes, and what is read of a probe on demand.
	if r.n > most+uint64(probes)*64+1<<20 {
		t.Errorf("a file of %d bytes: read %d, more than %d", len(data), r.n, most)
	}
	if n := uint64(probes + functions); n > most/16 {
		t.Errorf("a file of %d bytes: %d probes and %d functions", len(data), probes, functions)
	}
	limit := 3 * time.Second * slowdown
	for i := 0; i < 2 && took > limit && !testing.Short(); i++ {
		took = min(took, turns.Spent(func() { everything(r) }))
	}
	if took > limit && !testing.Short() {
		t.Errorf("a file of %d bytes: took %v", len(data), took)
	}
	if len(errs) > 2*101+8 {
		t.Errorf("a file of %d bytes: %d errors, the last: %v", len(data), len(errs), errs[len(errs)-1])
	}
	for _, err := range errs {
		exceeds = exceeds || errors.Is(err, safeelf.ErrBudget)
	}
	return exceeds
}

// rich returns a file with everything that is read of any file, and the number of its
// sections.
func rich(t testing.TB) (data []byte, n int) {
	types, id := argumentTypes(t)
	le := binary.LittleEndian
	const text = 0x40
	raw := notes.Note{Provider: "p", Name: "a", Location: text, Base: 0x20, Semaphore: 0x80, Args: "8@%rdi -4@foo+4(%rip) 8@foo@GOTPCREL(%rip)"}.Append(nil, le, notes.ELFCLASS64)
	raw = append(raw, someNotes(50, "8@%rdi 8@nothing(%rip)")...)
	table := symbols(100, func(i int) elf.Sym64 {
		return elf.Sym64{Name: uint32(1 + i%20), Info: function, Shndx: uint16(i % 2), Value: uint64(text + i), Size: 1}
	})
	names := []byte("\x00foo\x00puts\x00_ZN6shapes6SquareC2Ev\x00main\x00" + strings.Repeat("x", 200) + "\x00")
	golang := le.AppendUint32(nil, 0xfffffff1)
	golang = append(golang, 0, 0, 1, 8)
	for _, v := range []uint64{2, 0, 0, 72 + 36, 0, 0, 0, 72} {
		golang = le.AppendUint64(golang, v)
	}
	const entry = 0x1000 - text // of the file, as the table counts
	for _, v := range []uint32{entry, 20, entry + 4, 28, entry + 8, entry, 0, entry + 4, 5} {
		golang = le.AppendUint32(golang, v)
	}
	golang = append(golang, "main\x00main.work\x00"...)
	relocations := bytes.Repeat([]byte{0x80, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 10)
	id4 := append([]byte{4, 0, 0, 0, 8, 0, 0, 0, 3, 0, 0, 0}, "GNU\x0012345678"...)
	unwind := append([]byte{1, 0x1b, 3, 0x3b, 0, 0, 0, 0, 2, 0, 0, 0}, make([]byte, 16)...)
	alloc, exec := uint64(elf.SHF_ALLOC), uint64(elf.SHF_ALLOC|elf.SHF_EXECINSTR)
	sections := []section{
		{name: ".text", data: bytes.Repeat([]byte{0x90}, 256), Section64: elf.Section64{Type: progbits, Flags: exec, Addr: text}},
		{name: notes.BaseSectionName, data: []byte{0}, Section64: elf.Section64{Type: progbits, Flags: alloc, Addr: 0x20}},
		{name: stapsdt, data: raw, Section64: elf.Section64{Type: note}},
		{name: stapsdt, data: zlibbed(someNotes(50, "4@$1")), Section64: elf.Section64{Type: note, Flags: packed}},
		{name: notes.TypesSectionName, data: notes.AppendTypes(nil, le, []notes.TypeRecord{{Provider: "p", Name: "a", Location: text, Type: uint32(id)}}), Section64: elf.Section64{Type: progbits}},
		{name: ".BTF", data: types, Section64: elf.Section64{Type: progbits}},
		{name: ".symtab", data: table, Section64: elf.Section64{Type: symtab, Link: 8}},
		{name: ".strtab", data: names, Section64: elf.Section64{Type: uint32(elf.SHT_STRTAB)}},
		{name: ".dynsym", data: table, Section64: elf.Section64{Type: dynsym, Flags: alloc, Link: 8}},
		{name: ".rela.dyn", data: relocations, Section64: elf.Section64{Type: rela, Flags: alloc, Link: 9}},
		{name: ".gopclntab", data: golang, Section64: elf.Section64{Type: progbits, Flags: alloc}},
		{name: ".go.module", data: make([]byte, 256), Section64: elf.Section64{Type: progbits, Flags: alloc}},
		{name: ".gnu_debugdata", data: debugdataFile(t), Section64: elf.Section64{Type: progbits}},
		{name: ".gnu_debuglink", data: []byte("a.debug\x00\x01\x02\x03\x04"), Section64: elf.Section64{Type: progbits}},
		{name: ".note.gnu.build-id", data: id4, Section64: elf.Section64{Type: note, Flags: alloc}},
		{name: ".eh_frame_hdr", data: unwind, Section64: elf.Section64{Type: progbits, Flags: alloc}},
		{name: ".got", data: make([]byte, 64), Section64: elf.Section64{Type: progbits, Flags: alloc}},
	}
	// Room for copies of their headers, which mutations make.
	return linked(append(sections, times(copies, section{name: ".text"})...)...), len(sections)
}

const copies = 300

// mutate changes up to six fields of headers at once: to those of other headers, to
// values at their bounds, and to anything. It also changes bytes of contents, and
// repeats some sections many times.
func mutate(rnd *rand.Rand, whole []byte, sections int) []byte {
	le := binary.LittleEndian
	b := bytes.Clone(whole)
	shoff, size := int(le.Uint64(b[40:])), uint64(len(b))
	put := func(at, width int, v uint64) {
		switch width {
		case 2:
			le.PutUint16(b[at:], uint16(v))
		case 4:
			le.PutUint32(b[at:], uint32(v))
		case 8:
			le.PutUint64(b[at:], v)
		}
	}
	get := func(at, width int) uint64 {
		var v [8]byte
		copy(v[:], b[at:at+width])
		return le.Uint64(v[:])
	}
	value := func() uint64 {
		switch rnd.IntN(6) {
		case 0:
			return []uint64{0, 1, 7, 8, 64, 1<<16 - 1, 1 << 18, 1 << 31, 1<<32 - 1, 1 << 62, 1<<63 - 1, 1<<64 - 1}[rnd.IntN(12)]
		case 1:
			return 1 << rnd.IntN(64)
		case 2:
			return size - rnd.Uint64N(256)
		case 3:
			return rnd.Uint64()
		}
		return rnd.Uint64N(size)
	}
	header := func() int { return shoff + 64*(1+rnd.IntN(sections)) }
	if rnd.IntN(2) == 0 {
		from := header()
		for i := range copies {
			copy(b[shoff+64*(1+sections+i):][:64], b[from:from+64])
		}
	}
	for range 1 + rnd.IntN(6) {
		// Elf64_Shdr: sh_name, sh_type, sh_flags, sh_addr, sh_offset, sh_size, sh_link, sh_info, sh_addralign, sh_entsize
		f := [][2]int{{0, 4}, {4, 4}, {8, 8}, {16, 8}, {24, 8}, {32, 8}, {40, 4}, {44, 4}, {48, 8}, {56, 8}}[rnd.IntN(10)]
		switch rnd.IntN(10) {
		case 0: // Elf64_Ehdr: e_type, e_machine, e_entry, e_phoff, e_shoff, e_phentsize to e_shstrndx
			f = [][2]int{{16, 2}, {18, 2}, {24, 8}, {32, 8}, {40, 8}, {54, 2}, {56, 2}, {58, 2}, {60, 2}, {62, 2}}[rnd.IntN(10)]
			put(f[0], f[1], value())
		case 1: // Elf64_Phdr: p_type, p_flags, p_offset, p_vaddr, p_filesz, p_memsz, p_align
			f = [][2]int{{0, 4}, {4, 4}, {8, 8}, {16, 8}, {32, 8}, {40, 8}, {48, 8}}[rnd.IntN(7)]
			put(64+f[0], f[1], value())
		case 2:
			b[rnd.Uint64N(size)] = byte(rnd.Uint32())
		case 3, 4, 5: // the same field of another section
			put(header()+f[0], f[1], get(header()+f[0], f[1]))
		case 6: // the contents of another section, or all of them
			to, from := header(), header()
			put(to+24, 8, get(from+24, 8))
			put(to+32, 8, min(get(from+32, 8)*uint64(1+rnd.IntN(8)), size))
		case 7:
			to := header()
			put(to+8, 8, get(to+8, 8)^1<<[]int{1, 2, 11}[rnd.IntN(3)]) // SHF_ALLOC, SHF_EXECINSTR, SHF_COMPRESSED
		default:
			put(header()+f[0], f[1], value())
		}
	}
	return b
}

// TestMutations reads files in which several fields at once have been changed, as no
// linker writes them.
func TestMutations(t *testing.T) {
	if testing.Short() {
		t.Skip("short: no kernel makes a difference to what bytes mean")
	}
	// Each file makes garbage, and the heap is so small that collecting it takes as long as all else.
	defer debug.SetGCPercent(debug.SetGCPercent(1000))
	n := 3_000
	if slowdown > 1 { // the race detector's
		n = 200
	}
	whole, sections := rich(t)
	probes, functions, errs := everything(bytes.NewReader(whole))
	if probes != 101 || functions < 20 || len(errs) != 0 {
		t.Fatalf("before: got %d probes, %d functions and %v", probes, functions, errs)
	}
	exceed := 0
	for i := range n {
		data := mutate(rand.New(rand.NewPCG(0, uint64(i))), whole, sections)
		if withinBudget(t, data) {
			exceed++
		}
		if t.Failed() {
			t.Fatalf("mutation %d", i)
		}
	}
	t.Logf("%d of %d mutations of %d bytes ask for more than they are worth", exceed, n, len(whole))
	if exceed == 0 {
		t.Error("no mutation meets the budget: they are too tame")
	}
}
