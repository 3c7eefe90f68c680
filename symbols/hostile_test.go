package symbols_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/systest/turns"
	"github.com/go-usdt/usdt/symbols"
)

// small returns testdata/small.
func small(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/small")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// registers returns registers with a program counter, and a stack that leads there.
func registers(t testing.TB, pc uint64) (*symbols.Registers, []byte) {
	t.Helper()
	raw := make([]byte, 21*8)
	const sp = 0x7ffc00000000
	binary.LittleEndian.PutUint64(raw[16*8:], pc)
	binary.LittleEndian.PutUint64(raw[19*8:], sp)
	binary.LittleEndian.PutUint64(raw[4*8:], sp+64) // rbp
	regs, err := symbols.NewRegisters(elf.EM_X86_64, raw)
	if err != nil {
		t.Fatal(err)
	}
	stack := make([]byte, 16<<10)
	for i := 0; i < len(stack); i += 8 {
		binary.LittleEndian.PutUint64(stack[i:], pc+uint64(i)%64)
	}
	return regs, stack
}

// TestSmall names code of a file that is in the repository.
func TestSmall(t *testing.T) {
	data := small(t)
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	all, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	r := symbols.NewResolver(nil)
	defer r.Close()
	at, ok := r.Data(data)
	if !ok {
		t.Fatal("testdata/small is no ELF file")
	}
	seen := map[string]bool{}
	for _, s := range all {
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC {
			continue
		}
		for addr := s.Value; addr < s.Value+s.Size; addr++ {
			regs, stack := registers(t, addr)
			frames, pcs := at(addr, regs, stack)
			var names []string
			for _, f := range frames {
				names = append(names, f.Func)
				if !strings.HasSuffix(f.File, "/small.c") || f.Line < 5 {
					t.Errorf("%#x: got %s:%d, want a line of small.c", addr, f.File, f.Line)
				}
			}
			seen[strings.Join(names, "<")] = true
			if names[len(names)-1] != strings.TrimSuffix(s.Name, ".cold") {
				t.Errorf("%#x: got %q, want %s last", addr, names, s.Name)
			}
			if len(pcs) < 2 && !strings.HasPrefix(s.Name, "_start") {
				t.Errorf("%#x: unwound to %#x only", addr, pcs)
			}
		}
	}
	for _, want := range []string{"twice<thrice<sum", "thrice<sum", "sum", "twice<fail", "fail", "_start"} {
		if !seen[want] {
			t.Errorf("no code is of %s; got %v", want, seen)
		}
	}
}

// attempt names and unwinds code of a file all over its address space.
func attempt(t testing.TB, data []byte) {
	r := symbols.NewResolver(nil)
	defer r.Close()
	at, ok := r.Data(data)
	if !ok {
		return
	}
	for _, addr := range []uint64{0, 0x401000, 0x401010, 0x401020, 0x401030, 0x401050, 0x401070, 1<<64 - 1} {
		regs, stack := registers(t, addr)
		at(addr, regs, stack)
	}
}

// within fails the test if f takes longer than a second, or allocates more than 256
// MiB, in the best of three runs.
func within(t *testing.T, f func()) {
	t.Helper()
	var took time.Duration
	var allocated uint64
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		took = turns.Spent(f)
		runtime.ReadMemStats(&after)
		if allocated = after.TotalAlloc - before.TotalAlloc; took < time.Second*slowdown && allocated < 256<<20*slowdown {
			return
		}
	}
	t.Errorf("took %v and %d MB", took, allocated>>20)
}

// TestMutations changes bytes of a file: single ones everywhere, and numbers to the largest ones
// or ones that overflow.
func TestMutations(t *testing.T) {
	data := small(t)
	random := rand.New(rand.NewPCG(7, 11))
	for n := range 3000 / slowdown {
		changed := bytes.Clone(data)
		for range 1 + random.IntN(8) {
			at := random.IntN(len(changed) - 8)
			switch random.IntN(4) {
			case 0:
				changed[at] ^= 1 << random.IntN(8)
			case 1:
				changed[at] = 0xff
			case 2:
				binary.LittleEndian.PutUint32(changed[at:], random.Uint32()|0x7fffff00)
			case 3:
				binary.LittleEndian.PutUint64(changed[at:], ^uint64(0)>>random.IntN(64))
			}
		}
		if took := turns.Spent(func() { attempt(t, changed) }); took > 2*time.Second*slowdown {
			t.Errorf("change %d took %v", n, took)
		}
	}
}

// section returns where the file has a section.
func section(t testing.TB, data []byte, name string) *elf.Section {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	s := f.Section(name)
	if s == nil {
		t.Fatalf("no section %s", name)
	}
	return s
}

// replace returns the file with other contents of a section, behind its end.
func replace(t testing.TB, data []byte, name string, contents []byte) []byte {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range f.Sections {
		if s.Name == name {
			out := append(bytes.Clone(data), contents...)
			header := binary.LittleEndian.Uint64(out[40:]) + uint64(i)*64
			binary.LittleEndian.PutUint64(out[header+24:], uint64(len(data)))
			binary.LittleEndian.PutUint64(out[header+32:], uint64(len(contents)))
			return out
		}
	}
	t.Fatalf("no section %s", name)
	return nil
}

// TestHostile reads files that were made to cost much.
func TestHostile(t *testing.T) {
	data := small(t)
	contents := func(name string) []byte {
		b, err := section(t, data, name).Data()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	const big = 24 << 20
	info, lines := contents(".debug_info"), contents(".debug_line")
	// A unit that claims all of a large section, of entries of one byte.
	entries := append(bytes.Clone(info), bytes.Repeat([]byte{2}, big)...)
	binary.LittleEndian.PutUint32(entries, uint32(len(entries)-4))
	// A line program with a row for each byte.
	rows := append(bytes.Clone(lines), bytes.Repeat([]byte{0xff}, big)...)
	binary.LittleEndian.PutUint32(rows, uint32(len(rows)-4))
	// Very many units, each with the same shapes.
	unit := []byte{8, 0, 0, 0, 5, 0, 1, 8, 0, 0, 0, 0}
	// Very many functions in .eh_frame, with one that is all instructions.
	frames := contents(".eh_frame")
	frames = frames[:len(frames)-4]
	many := bytes.Repeat(frames[24:48], big/24)
	for name, file := range map[string][]byte{
		"entries":   replace(t, data, ".debug_info", entries),
		"rows":      replace(t, data, ".debug_line", rows),
		"units":     replace(t, data, ".debug_info", bytes.Repeat(unit, big/len(unit))),
		"shapes":    replace(t, data, ".debug_abbrev", bytes.Repeat([]byte{1, 0x11, 1, 0, 0}, big/5)),
		"ranges":    replace(t, data, ".debug_rnglists", bytes.Repeat([]byte{4, 1, 2}, big/3)),
		"frames":    replace(t, data, ".eh_frame", append(bytes.Clone(frames), many...)),
		"strings":   replace(t, data, ".debug_str", bytes.Repeat([]byte{'a'}, big)),
		"mangled":   replace(t, data, ".debug_str", append([]byte("_Z"), bytes.Repeat([]byte("St"), big)...)),
		"symbols":   replace(t, data, ".symtab", bytes.Repeat(contents(".symtab"), big/len(contents(".symtab")))),
		"names":     replace(t, data, ".strtab", bytes.Repeat([]byte{'b'}, big)),
		"truncated": data[:len(data)/2],
	} {
		t.Run(name, func(t *testing.T) { within(t, func() { attempt(t, file) }) })
	}
}

// FuzzObject names and unwinds code of any file.
func FuzzObject(f *testing.F) {
	f.Add(small(f), uint64(0x401020))
	f.Fuzz(func(t *testing.T, data []byte, addr uint64) {
		r := symbols.NewResolver(&symbols.Options{Memory: 1 << 20})
		defer r.Close()
		at, ok := r.Data(data)
		if !ok {
			return
		}
		regs, stack := registers(t, addr)
		frames, pcs := at(addr, regs, stack)
		if len(pcs) > 1025 || len(frames) > 257 {
			t.Errorf("%d frames, %d return addresses", len(frames), len(pcs))
		}
		if bytes, files := r.Used(); bytes > 1<<20 || files > 256 {
			t.Errorf("%d bytes and %d files are kept", bytes, files)
		}
	})
}
