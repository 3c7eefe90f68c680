package elfgen_test

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/elfgen"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// targets has one machine for each class and byte order.
var targets = []struct {
	name    string
	class   elfgen.Class
	data    elfgen.Data
	machine elfgen.Machine
	flags   uint32
}{
	{"x86-64", elfgen.ELFCLASS64, elfgen.ELFDATA2LSB, elfgen.EM_X86_64, 0},
	{"s390x", elfgen.ELFCLASS64, elfgen.ELFDATA2MSB, elfgen.EM_S390, 0},
	{"i386", elfgen.ELFCLASS32, elfgen.ELFDATA2LSB, elfgen.Machine(elf.EM_386), 0},
	{"ppc", elfgen.ELFCLASS32, elfgen.ELFDATA2MSB, elfgen.Machine(elf.EM_PPC), 0},
}

// build makes an object with n functions of 8 bytes and n variables.
func build(t testing.TB, class elfgen.Class, data elfgen.Data, machine elfgen.Machine, flags uint32, n int) (*elfgen.Image, []byte) {
	t.Helper()
	text := &elfgen.Section{Name: ".text", Type: elfgen.SHT_PROGBITS, Flags: elfgen.SHF_ALLOC | elfgen.SHF_EXECINSTR, Align: 16, Skip: 0x123, Size: uint64(8 * n)}
	vars := &elfgen.Section{Name: ".data", Type: elfgen.SHT_PROGBITS, Flags: elfgen.SHF_ALLOC | elfgen.SHF_WRITE, Align: 4, Size: uint64(4 * n)}
	comment := &elfgen.Section{Name: ".comment", Type: elfgen.SHT_PROGBITS, Flags: elfgen.SectionFlag(elf.SHF_MERGE | elf.SHF_STRINGS), Entsize: 1, Size: 6}
	obj := &elfgen.Object{
		Class: class, Data: data, Machine: machine, Flags: flags, Soname: "libtest.so",
		Sections: []*elfgen.Section{comment, vars, text}, // in an order that the writer must change
	}
	for i := range n {
		obj.Symbols = append(obj.Symbols,
			elfgen.Symbol{Name: fmt.Sprintf("f%d", i), Section: text, Offset: uint64(8 * i), Size: 8, Type: elfgen.STT_FUNC},
			elfgen.Symbol{Name: fmt.Sprintf("v%d", i), Section: vars, Offset: uint64(4 * i), Size: 4, Type: elfgen.STT_OBJECT})
	}
	img, err := obj.Layout()
	if err != nil {
		t.Fatal(err)
	}
	for i := range img.Contents(text) {
		img.Contents(text)[i] = 0xc3
	}
	copy(img.Contents(comment), "hello\x00")
	return img, img.Finish()
}

func TestReadBack(t *testing.T) {
	for _, target := range targets {
		t.Run(target.name, func(t *testing.T) {
			img, file := build(t, target.class, target.data, target.machine, target.flags, 3)
			f, err := elf.NewFile(bytes.NewReader(file))
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, s := range f.Sections {
				names = append(names, s.Name)
			}
			want := []string{"", ".note.gnu.build-id", ".hash", ".dynsym", ".dynstr", ".text", ".dynamic", ".data", ".comment", ".shstrtab"}
			if d := cmp.Diff(want, names); d != "" {
				t.Errorf("sections (-want +got):\n%s", d)
			}
			if f.Machine != elf.Machine(target.machine) || f.Type != elf.ET_DYN {
				t.Errorf("got %v %v, want %v %v", f.Machine, f.Type, target.machine, elf.ET_DYN)
			}
			soname, err := f.DynString(elf.DT_SONAME)
			if err != nil || len(soname) != 1 || soname[0] != "libtest.so" {
				t.Errorf("DT_SONAME: got %q, %v", soname, err)
			}
			syms, err := f.DynamicSymbols()
			if err != nil {
				t.Fatal(err)
			}
			if len(syms) != 6 {
				t.Fatalf("got %d symbols, want 6", len(syms))
			}
			text := f.Section(".text")
			if s := syms[4]; s.Name != "f2" || s.Value != text.Addr+16 || s.Size != 8 || f.Sections[s.Section] != text {
				t.Errorf("symbol f2: got %+v, .text at %#x", s, text.Addr)
			}
			if text.Addr%4096 != 0x130 {
				t.Errorf(".text is at %#x, want it to be aligned behind 0x123 bytes of its page", text.Addr)
			}
			id, err := f.Section(".note.gnu.build-id").Data()
			if err != nil || fmt.Sprintf("%x", id[16:]) != img.BuildID() {
				t.Errorf("build-id: section has %x, BuildID says %s (%v)", id, img.BuildID(), err)
			}
			for _, p := range f.Progs {
				if p.Type == elf.PT_LOAD && p.Flags&(elf.PF_W|elf.PF_X) == elf.PF_W|elf.PF_X {
					t.Errorf("segment at %#x is writable and executable", p.Vaddr)
				}
			}
		})
	}
}

func TestDeterministic(t *testing.T) {
	_, a := build(t, elfgen.ELFCLASS64, elfgen.ELFDATA2LSB, elfgen.EM_X86_64, 0, 50)
	_, b := build(t, elfgen.ELFCLASS64, elfgen.ELFDATA2LSB, elfgen.EM_X86_64, 0, 50)
	if !bytes.Equal(a, b) {
		t.Error("the same object has different bytes the second time")
	}
}

// TestOtherReaders checks that the strictest readers accept each class and byte
// order: readelf prints no warning, eu-elflint no complaint.
func TestOtherReaders(t *testing.T) {
	needs.Tools(t, "readelf", "eu-elflint")
	for _, target := range targets {
		t.Run(target.name, func(t *testing.T) {
			_, file := build(t, target.class, target.data, target.machine, target.flags, 40)
			path := filepath.Join(t.TempDir(), "libtest.so")
			if err := os.WriteFile(path, file, 0o644); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command("readelf", "-a", "-W", path).CombinedOutput()
			if err != nil || strings.Contains(strings.ToLower(string(out)), "warning") || strings.Contains(string(out), "Error") {
				t.Errorf("readelf -a: %v\n%s", err, out)
			}
			out, err = exec.Command("eu-elflint", "--gnu-ld", path).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "No errors") {
				t.Errorf("eu-elflint: %v\n%s", err, out)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	text := &elfgen.Section{Name: ".text", Type: elfgen.SHT_PROGBITS, Flags: elfgen.SHF_ALLOC | elfgen.SHF_EXECINSTR, Size: 8}
	valid := elfgen.Object{Class: elfgen.ELFCLASS64, Data: elfgen.ELFDATA2LSB, Machine: elfgen.EM_X86_64}
	for _, tt := range []struct {
		name   string
		change func(*elfgen.Object)
		want   string
	}{
		{"class", func(o *elfgen.Object) { o.Class = 0 }, "unknown ELF class"},
		{"data", func(o *elfgen.Object) { o.Data = 9 }, "unknown ELF data encoding"},
		{"page", func(o *elfgen.Object) { o.PageSize = 3000 }, "page size 3000 is not a power of two"},
		{"small page", func(o *elfgen.Object) { o.PageSize = 1 }, "page size 1 is not a power of two of at least 1024"},
		{"soname", func(o *elfgen.Object) { o.Soname = "a\x00b" }, "has a NUL byte"},
		{"nil", func(o *elfgen.Object) { o.Sections = []*elfgen.Section{nil} }, "section 0 is nil"},
		{"own section", func(o *elfgen.Object) {
			o.Sections = []*elfgen.Section{{Name: ".dynsym", Type: elfgen.SHT_PROGBITS}}
		}, "section .dynsym is the writer's own"},
		{"huge", func(o *elfgen.Object) {
			o.Sections = []*elfgen.Section{{Name: ".x", Type: elfgen.SHT_PROGBITS, Size: 1<<64 - 100}}
		}, "section .x has 18446744073709551516 bytes"},
		{"far", func(o *elfgen.Object) {
			o.Sections = []*elfgen.Section{{Name: ".x", Type: elfgen.SHT_PROGBITS, Skip: 1<<64 - 100}}
		}, "section .x skips 18446744073709551516 bytes"},
		{"large sum", func(o *elfgen.Object) {
			o.Sections = []*elfgen.Section{{Name: ".x", Type: elfgen.SHT_PROGBITS, Size: 1 << 40}, {Name: ".y", Type: elfgen.SHT_PROGBITS, Size: 1 << 40}}
		}, "bytes are too many for its class"},
		{"32 bit", func(o *elfgen.Object) {
			o.Class = elfgen.ELFCLASS32
			o.Sections = []*elfgen.Section{{Name: ".x", Type: elfgen.SHT_PROGBITS, Size: 5 << 30}}
		}, "bytes are too many for its class"},
		{"nobits", func(o *elfgen.Object) {
			o.Sections = []*elfgen.Section{{Name: ".bss", Type: elfgen.SHT_NOBITS, Size: 1}}
		}, "section .bss is SHT_NOBITS"},
		{"align", func(o *elfgen.Object) {
			o.Sections = []*elfgen.Section{{Name: ".x", Type: elfgen.SHT_PROGBITS, Align: 3}}
		}, "section .x has alignment 3"},
		{"twice", func(o *elfgen.Object) { o.Sections = []*elfgen.Section{text, text} }, "section .text is listed twice"},
		{"wx", func(o *elfgen.Object) {
			o.Sections = []*elfgen.Section{{Name: ".x", Type: elfgen.SHT_PROGBITS, Flags: elfgen.SHF_ALLOC | elfgen.SHF_WRITE | elfgen.SHF_EXECINSTR}}
		}, "writable and executable"},
		{"stray symbol", func(o *elfgen.Object) { o.Symbols = []elfgen.Symbol{{Name: "f", Section: text}} }, "symbol f is in no loaded section"},
		{"long symbol", func(o *elfgen.Object) {
			o.Sections = []*elfgen.Section{text}
			o.Symbols = []elfgen.Symbol{{Name: "f", Section: text, Offset: 4, Size: 5}}
		}, "symbol f reaches beyond section .text"},
		{"symbol name", func(o *elfgen.Object) {
			o.Sections = []*elfgen.Section{text}
			o.Symbols = []elfgen.Symbol{{Name: "a\x00b", Section: text}}
		}, "has a NUL byte"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := valid
			tt.change(&o)
			_, err := o.Layout()
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func BenchmarkLayout(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				build(b, elfgen.ELFCLASS64, elfgen.ELFDATA2LSB, elfgen.EM_X86_64, 0, n)
			}
		})
	}
}
