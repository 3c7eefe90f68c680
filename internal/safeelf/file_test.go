package safeelf_test

import (
	"bytes"
	"debug/elf"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/internal/safeelf"
)

// TestAgainstDebugELF compares safeelf with debug/elf on this test's own binary.
func TestAgainstDebugELF(t *testing.T) {
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := safeelf.NewFile(f)
	if err != nil {
		t.Fatal(err)
	}
	want, err := elf.NewFile(f)
	if err != nil {
		t.Fatal(err)
	}
	if got.Class != want.Class || got.Type != want.Type || got.Machine != want.Machine || got.ByteOrder != want.ByteOrder {
		t.Errorf("got %v %v %v %v, want %v", got.Class, got.Type, got.Machine, got.ByteOrder, want.FileHeader)
	}
	for i, p := range want.Progs {
		if diff := cmp.Diff(p.ProgHeader, got.Progs[i]); diff != "" {
			t.Errorf("program header %d (-want +got):\n%s", i, diff)
		}
	}
	for i, s := range want.Sections {
		// debug/elf sets Size to the uncompressed size of a compressed section.
		s.Size = s.FileSize
		h := got.Sections[i]
		if s.Flags&elf.SHF_COMPRESSED != 0 {
			s.Addralign = h.Addralign
		}
		if diff := cmp.Diff(s.SectionHeader, h); diff != "" {
			t.Errorf("section header %d (-want +got):\n%s", i, diff)
		}
		if s.Flags&elf.SHF_COMPRESSED == 0 {
			continue
		}
		data, err := got.Data(&got.Sections[i], 64<<20)
		if err != nil {
			t.Errorf("section %s: %v", s.Name, err)
		}
		if plain, err := s.Data(); err == nil && len(plain) > 0 && !cmp.Equal(plain, data) {
			t.Errorf("section %s: contents differ", s.Name)
		}
	}
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

// FuzzFile reads every section of a file, whatever they share, and checks that input
// and output keep within the budget of a file of that size.
func FuzzFile(f *testing.F) {
	for _, class := range []elf.Class{elf.ELFCLASS32, elf.ELFCLASS64} {
		head := make([]byte, 64)
		copy(head, elf.ELFMAG)
		head[elf.EI_CLASS], head[elf.EI_DATA] = byte(class), byte(elf.ELFDATA2MSB)
		f.Add(head)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const limit = 1 << 20
		r := &counted{r: bytes.NewReader(data)}
		file, err := safeelf.NewFile(r)
		if err != nil {
			return
		}
		out := uint64(0)
		for i := range file.Sections {
			s := &file.Sections[i]
			contents, err := file.Data(s, limit)
			if len(contents) > limit || err != nil && contents != nil {
				t.Errorf("section %d: got %d bytes, %v", i, len(contents), err)
			}
			out += uint64(len(contents))
			if n := uint64(len(contents)); err == nil && s.Type != elf.SHT_NOBITS && s.Flags&elf.SHF_COMPRESSED == 0 && n != s.Size {
				t.Errorf("section %d: got %d bytes of %d", i, n, s.Size)
			}
		}
		// Checking that the file reaches that far reads a byte of each section.
		if most := safeelf.Allowance(uint64(len(data))); out > most || r.n > most+uint64(len(file.Sections))*2+4096 {
			t.Errorf("a file of %d bytes: read %d and got %d, more than %d", len(data), r.n, out, most)
		}
		for i := range min(len(file.Sections), 64) {
			s := &file.Sections[i]
			contents, err := file.Data(s, limit)
			opened, _, openErr := file.Open(s, limit)
			if errors.Is(err, safeelf.ErrBudget) || errors.Is(openErr, safeelf.ErrBudget) {
				break
			}
			if (openErr == nil) != (err == nil) {
				t.Errorf("section %d: Data says %v, Open %v", i, err, openErr)
			} else if err == nil {
				if again, err := io.ReadAll(opened); err != nil || !bytes.Equal(again, contents) {
					t.Errorf("section %d: Open gives %d bytes and %v, Data %d", i, len(again), err, len(contents))
				}
			}
		}
	})
}

// TestUnknownSize checks that a file whose reader does not report its size has the
// same budget as one whose reader does.
func TestUnknownSize(t *testing.T) {
	data, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{64, 4096, 100_001} {
		head := bytes.Clone(data[:size])
		copy(head[40:], make([]byte, 8)) // e_shoff: no sections
		copy(head[32:], make([]byte, 8)) // e_phoff: no segments
		f, err := safeelf.NewFile(&counted{r: bytes.NewReader(head)})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Spend(safeelf.Allowance(uint64(size))); err != nil {
			t.Errorf("%d bytes: %v", size, err)
		}
		if err := f.Spend(1); !errors.Is(err, safeelf.ErrBudget) {
			t.Errorf("%d bytes: got %v, want that the budget is spent", size, err)
		}
	}
}
