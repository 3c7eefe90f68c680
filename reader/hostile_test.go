package reader_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/systest/turns"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// within fails the test if f takes longer than a second or allocates more than 256
// MiB, the limits for any file; the race detector may make it cost more. It counts
// the best of three runs, because machines are noisy. Short tests, which are for
// emulated machines, do not check the time.
func within(t *testing.T, f func()) {
	t.Helper()
	limit := time.Second * slowdown
	if testing.Short() {
		limit = time.Minute
	}
	var took time.Duration
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		took = turns.Spent(f)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 256<<20 && slowdown == 1 {
			t.Errorf("allocated %d MiB, want at most 256", n>>20)
		}
		if took <= limit {
			return
		}
	}
	t.Errorf("took %v, want at most %v", took, limit)
}

// read counts the probes and errors of r.
func read(r io.ReaderAt) (probes, errs int) {
	f, err := reader.NewFile(r)
	if err != nil {
		return 0, 1
	}
	defer f.Close()
	for _, err := range f.Probes() {
		if err != nil {
			errs++
		} else {
			probes++
		}
	}
	for fn, err := range f.Functions() {
		if err == nil {
			fn.Match(func(string) bool { return false })
		}
	}
	return probes, errs
}

// sparse returns a file of size bytes that begins with head and, if it is not empty,
// has the section of notes at its end.
func sparse(t *testing.T, head []byte, size int64) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.Write(head); err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestSparseFile(t *testing.T) {
	data := (&object{notes: one}).build(t)
	within(t, func() {
		if probes, errs := read(sparse(t, data, 1<<30)); probes != 1 || errs != 0 {
			t.Errorf("got %d probes and %d errors", probes, errs)
		}
	})
}

func TestHugeSection(t *testing.T) {
	data := (&object{notes: one}).build(t)
	for _, size := range []uint64{4 << 30, 1 << 62, 1<<64 - 1} {
		huge := edit(t, data, notes.SectionName, func(s *elf.Section64) { s.Size = size })
		within(t, func() {
			if probes, errs := read(sparse(t, huge, 5<<30)); probes != 0 || errs != 1 {
				t.Errorf("%d bytes: got %d probes and %d errors, want an error", size, probes, errs)
			}
		})
	}
}

func TestLyingLengths(t *testing.T) {
	data := (&object{notes: one}).build(t)
	for _, size := range []uint64{50 << 20, 64 << 20} {
		short := edit(t, data, notes.SectionName, func(s *elf.Section64) { s.Size = size })
		within(t, func() {
			f, err := reader.NewFile(bytes.NewReader(short))
			if err != nil {
				t.Fatal(err)
			}
			for _, err := range f.Probes() {
				if !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("got %v, want io.ErrUnexpectedEOF", err)
				}
			}
		})
	}
	for field, values := range map[int][]uint16{
		54: {0, 1, 0xffff},         // e_phentsize
		56: {0xfffe, 0xffff},       // e_phnum
		58: {0, 63, 0xffff},        // e_shentsize
		60: {0, 0xff00, 0xffff},    // e_shnum
		62: {0, 1, 0xfff0, 0xffff}, // e_shstrndx
	} {
		for _, v := range values {
			bad := bytes.Clone(data)
			binary.LittleEndian.PutUint16(bad[field:], v)
			within(t, func() { read(sparse(t, bad, 1<<30)) })
		}
	}
}

func TestMillionProbes(t *testing.T) {
	if testing.Short() {
		t.Skip("short: takes the processor's time, whatever the kernel")
	}
	note := notes.Note{Provider: "p", Name: "n"}.Append(nil, binary.LittleEndian, notes.ELFCLASS64)
	data := (&object{rawNotes: bytes.Repeat(note, 1_000_000)}).build(t)
	within(t, func() {
		if probes, errs := read(bytes.NewReader(data)); probes != 1_000_000 || errs != 0 {
			t.Errorf("got %d probes and %d errors", probes, errs)
		}
	})
}

func TestOverlappingHeaders(t *testing.T) {
	data := (&object{notes: one}).build(t)
	// All tables and the notes at the start of the file.
	for _, field := range []int{32, 40} { // e_phoff, e_shoff
		bad := bytes.Clone(data)
		binary.LittleEndian.PutUint64(bad[field:], 8)
		within(t, func() { read(bytes.NewReader(bad)) })
	}
	bad := edit(t, data, notes.SectionName, func(s *elf.Section64) { s.Off, s.Size = 0, uint64(len(data)) })
	within(t, func() { read(bytes.NewReader(bad)) })
	bad = progs(t, data, func(p *elf.Prog64) { p.Vaddr, p.Memsz, p.Filesz, p.Off = 1<<64-8, 1<<64-1, 1<<64-1, 1<<64-8 })
	within(t, func() { read(bytes.NewReader(bad)) })
}

// FuzzFile checks that no file costs more than its size justifies.
func FuzzFile(f *testing.F) {
	f.Add((&object{notes: one}).build(f))
	f.Add((&object{class: elf.ELFCLASS32, data: elf.ELFDATA2MSB, machine: elf.EM_PPC, notes: one}).build(f))
	f.Add(typed(f).build(f))
	f.Add(symbolic(f))
	data, _ := rich(f)
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		withinBudget(t, data)
		f, err := reader.NewFile(bytes.NewReader(data))
		if err != nil {
			return
		}
		for p, err := range f.Probes() {
			if err == nil {
				p.Resolve(&notes.Arg{Symbol: "a", Reloc: "tpoff"})
				p.Resolve(&notes.Arg{Symbol: "a", Reloc: "GOTOFF"})
				break
			}
		}
	})
}

func debugdataFile(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/debugdata.xz")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// symbolic returns an object with a section for each way to find symbols.
func symbolic(t testing.TB) []byte {
	return (&object{notes: one, sections: map[string][]byte{
		".gnu_debugdata": debugdataFile(t),
		".gnu_debuglink": []byte("a.debug\x00\x01\x02\x03\x04"),
		".gopclntab":     append([]byte{0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8, 1}, make([]byte, 120)...),
	}}).build(t)
}
