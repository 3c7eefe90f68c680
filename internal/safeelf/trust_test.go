package safeelf_test

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-usdt/usdt/internal/safeelf"
)

// packed returns an ELF file with one section, whose contents zlib compresses.
func packed(t *testing.T, name string, contents []byte) []byte {
	t.Helper()
	var z, out bytes.Buffer
	if name[1] == 'z' {
		z.WriteString("ZLIB")
		binary.Write(&z, binary.BigEndian, uint64(len(contents)))
	} else {
		binary.Write(&z, binary.LittleEndian, elf.Chdr64{Type: uint32(elf.COMPRESS_ZLIB), Size: uint64(len(contents)), Addralign: 1})
	}
	w, _ := zlib.NewWriterLevel(&z, zlib.BestSpeed)
	w.Write(contents)
	w.Close()
	names := "\x00" + name + "\x00"
	flags := elf.SHF_COMPRESSED
	if name[1] == 'z' {
		flags = 0
	}
	put := func(v any) { binary.Write(&out, binary.LittleEndian, v) }
	put(elf.Header64{Ident: [16]byte{0x7f, 'E', 'L', 'F', 2, 1, 1}, Type: 3, Machine: 62, Version: 1, Shoff: 64, Ehsize: 64, Shentsize: 64, Shnum: 3, Shstrndx: 2})
	put(elf.Section64{})
	put(elf.Section64{Name: 1, Type: uint32(elf.SHT_PROGBITS), Flags: uint64(flags), Off: 256, Size: uint64(z.Len())})
	put(elf.Section64{Type: uint32(elf.SHT_STRTAB), Off: 256 + uint64(z.Len()), Size: uint64(len(names))})
	return append(append(out.Bytes(), z.Bytes()...), names...)
}

// text returns size bytes that become about a tenth.
func text(size int) []byte {
	b := make([]byte, size)
	x := uint32(1)
	for i := range b {
		if x = x*1664525 + 1013904223; i%20 == 0 {
			b[i] = byte(x >> 24)
		}
	}
	return b
}

// TestTrust unpacks a section that is more than a file may cost that a stranger wrote, by
// way of the disk, and refuses one that is more than any may.
func TestTrust(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	for _, name := range []string{".debug_info", ".zdebug_info"} {
		contents := text(20 << 20)
		data := packed(t, name, contents)
		open := func(data []byte, trust bool) (*io.SectionReader, int64, error) {
			f, err := safeelf.NewFile(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			if trust {
				f.Trust()
				f.Trust()
			}
			s := f.Section(".debug_info")
			if s == nil {
				t.Fatalf("%s is not found", name)
			}
			return f.Open(s, 1<<32)
		}
		if _, _, err := open(data, false); !errors.Is(err, safeelf.ErrBudget) {
			t.Errorf("%s, %d bytes: got %v, want that a stranger's file of %d may not cost so much", name, len(contents), err, len(data))
		}
		r, held, err := open(data, true)
		if err != nil || held != 0 {
			t.Fatalf("%s: %v, %d bytes of memory", name, err, held)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, contents) {
			t.Errorf("%s: got %d bytes, %v", name, len(got), err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
			t.Errorf("%s: %q are left", name, left)
		}
		if _, _, err := open(packed(t, name, make([]byte, 64<<20)), true); !errors.Is(err, safeelf.ErrBudget) {
			t.Errorf("%s: a bomb: got %v", name, err)
		}
		small, held, err := open(packed(t, name, contents[:1<<20]), false)
		if err != nil || held < 1<<20 || small.Size() != 1<<20 {
			t.Errorf("%s: a small one: %v, %d bytes of memory", name, err, held)
		}
		if err := os.Setenv("TMPDIR", filepath.Join(dir, "none")); err != nil {
			t.Fatal(err)
		}
		if _, _, err := open(data, true); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: got %v, want that there is no directory", name, err)
		}
		os.Setenv("TMPDIR", dir)
	}
}
