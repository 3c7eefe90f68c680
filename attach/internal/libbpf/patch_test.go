package libbpf

import (
	"bytes"
	"debug/elf"
	"os"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
)

// objectFile was compiled with libbpf 1.7; it has a weak map, the extern
// LINUX_HAS_BPF_COOKIE beside another one, and hidden functions.
const objectFile = "../../collection/testdata/collection-1.7.o"

func readObject(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile(objectFile)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestPatch(t *testing.T) {
	object := readObject(t)
	before := bytes.Clone(object)
	patched, err := Patch(object)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(object, before) {
		t.Error("Patch changed its argument")
	}
	if again, err := Patch(patched); err != nil || !bytes.Equal(again, patched) {
		t.Errorf("Patch of what is patched gives %d bytes, error %v, want the same %d", len(again), err, len(patched))
	}
	f, err := elf.NewFile(bytes.NewReader(patched))
	if err != nil {
		t.Fatal(err)
	}
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, s := range symbols {
		switch s.Name {
		case CookieExtern:
			data, err := f.Sections[s.Section].Data()
			if name := f.Sections[s.Section].Name; err != nil || name != ".rodata.usdt" || s.Value != 0 || data[0] != 1 {
				t.Errorf("%s is at %d of section %s with % x (error %v), want a one in .rodata.usdt", s.Name, s.Value, name, data, err)
			}
			seen++
		case SpecMap, AddressMap:
			if elf.ST_BIND(s.Info) != elf.STB_GLOBAL {
				t.Errorf("map %s is %v, want STB_GLOBAL", s.Name, elf.ST_BIND(s.Info))
			}
			seen++
		}
	}
	if seen != 3 {
		t.Errorf("found %d symbols, want 3", seen)
	}
	spec, err := btf.LoadSpecFromReader(bytes.NewReader(patched))
	if err != nil {
		t.Fatal(err)
	}
	var fn *btf.Func
	if err := spec.TypeByName(ArgFunction, &fn); err != nil || fn.Linkage != btf.StaticFunc {
		t.Errorf("function %s: linkage %v, error %v, want static", ArgFunction, fn, err)
	}
	var kconfig *btf.Datasec
	if err := spec.TypeByName(".kconfig", &kconfig); err != nil {
		t.Fatal(err)
	}
	if len(kconfig.Vars) != 1 || kconfig.Vars[0].Type.TypeName() != "LINUX_KERNEL_VERSION" {
		t.Errorf(".kconfig has %v, want LINUX_KERNEL_VERSION alone", kconfig.Vars)
	}
}

func TestPatchRefuses(t *testing.T) {
	for _, object := range [][]byte{nil, []byte("\x7fELF"), make([]byte, 100), readObject(t)[:1000]} {
		if out, err := Patch(object); err == nil {
			t.Errorf("Patch of %d bytes gives %d, want an error", len(object), len(out))
		}
	}
	exe, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Patch(exe); err == nil {
		t.Error("Patch of an executable: no error")
	}
}

// FuzzPatch damages an object.
func FuzzPatch(f *testing.F) {
	object := readObject(f)
	f.Add(uint32(0), []byte{}, uint32(0))
	f.Add(uint32(40), []byte{0xff, 0xff}, uint32(0)) // e_shoff
	f.Add(uint32(60), []byte{0xff, 0xff}, uint32(0)) // e_shnum
	f.Add(uint32(0), []byte{}, uint32(1000))
	if file, err := elf.NewFile(bytes.NewReader(object)); err == nil {
		for _, s := range file.Sections {
			switch s.Name {
			case ".BTF":
				for _, at := range []uint64{4, 8, 12, 16, 20, 28, 40} {
					f.Add(uint32(s.Offset+at), []byte{0xff, 0xff, 0xff, 0xff}, uint32(0))
				}
			case ".symtab":
				f.Add(uint32(s.Offset+24), bytes.Repeat([]byte{0xff}, 24), uint32(0))
			}
		}
	}
	f.Fuzz(func(t *testing.T, at uint32, with []byte, cut uint32) {
		b := bytes.Clone(object)
		if int(at) < len(b) {
			copy(b[at:], with)
		}
		b = b[:len(b)-min(int(cut), len(b))]
		patched, err := Patch(b)
		if err != nil {
			return
		}
		again, err := Patch(patched)
		if err != nil || !bytes.Equal(again, patched) {
			t.Errorf("Patch of what is patched: %d bytes, error %v, want the same %d", len(again), err, len(patched))
		}
	})
}

func layout(t testing.TB) *Layout {
	t.Helper()
	b, err := Patch(readObject(t))
	if err != nil {
		t.Fatal(err)
	}
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	l, err := LayoutOf(spec.Maps[SpecMap].Value)
	if err != nil {
		t.Fatal(err)
	}
	return l
}
