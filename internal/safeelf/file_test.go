package safeelf_test

import (
	"bytes"
	"debug/elf"
	"io"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/internal/safeelf"
)

// TestAgainstDebugELF compares what both say of this test's own binary.
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
		// debug/elf makes Size what a compressed section grows to.
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

// FuzzFile reads every section of a file, in time and memory that the limit
// bounds.
func FuzzFile(f *testing.F) {
	for _, class := range []elf.Class{elf.ELFCLASS32, elf.ELFCLASS64} {
		head := make([]byte, 64)
		copy(head, elf.ELFMAG)
		head[elf.EI_CLASS], head[elf.EI_DATA] = byte(class), byte(elf.ELFDATA2MSB)
		f.Add(head)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const limit = 1 << 20
		file, err := safeelf.NewFile(bytes.NewReader(data))
		if err != nil {
			return
		}
		for i := range file.Sections {
			s := &file.Sections[i]
			contents, err := file.Data(s, limit)
			if len(contents) > limit || err != nil && contents != nil {
				t.Errorf("section %d: got %d bytes, %v", i, len(contents), err)
			}
			if r, openErr := file.Open(s, limit); (openErr == nil) != (err == nil) {
				t.Errorf("section %d: Data says %v, Open %v", i, err, openErr)
			} else if err == nil {
				if again, err := io.ReadAll(r); err != nil || !bytes.Equal(again, contents) {
					t.Errorf("section %d: Open gives %d bytes and %v, Data %d", i, len(again), err, len(contents))
				}
			}
			if n := uint64(len(contents)); err == nil && s.Type != elf.SHT_NOBITS && s.Flags&elf.SHF_COMPRESSED == 0 && n != s.Size {
				t.Errorf("section %d: got %d bytes of %d", i, n, s.Size)
			}
			if i > 64 {
				break
			}
		}
	})
}
