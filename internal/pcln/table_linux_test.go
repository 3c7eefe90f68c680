package pcln_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/pcln"
	"github.com/go-usdt/usdt/internal/safeelf"
	"github.com/go-usdt/usdt/internal/systest/turns"
)

// self returns the bytes of this test.
func self(t testing.TB) []byte {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// read returns the table of a program with these bytes.
func read(t testing.TB, program []byte) (*pcln.Table, error) {
	t.Helper()
	e, err := safeelf.NewFile(bytes.NewReader(program))
	if err != nil {
		t.Fatal(err)
	}
	return pcln.Read(e)
}

// section returns the part of the program that is a section.
func section(t testing.TB, program []byte, name string) []byte {
	t.Helper()
	e, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		t.Fatal(err)
	}
	s := e.Section(name)
	if s == nil {
		t.Fatalf("no section %s", name)
	}
	return program[s.Offset:][:s.Size]
}

// own returns the table of this test, and its bytes.
func own(t testing.TB) (*pcln.Table, []byte) {
	t.Helper()
	program := self(t)
	table, err := read(t, program)
	if err != nil || table == nil {
		t.Fatalf("got %v, %v", table, err)
	}
	return table, section(t, program, ".gopclntab")
}

// TestEverywhere compares all of this program's code with what the runtime says.
func TestEverywhere(t *testing.T) {
	table, _ := own(t)
	here, _, _, _ := runtime.Caller(0)
	count := 0
	for pc := here &^ 0xffff; pc < here+1<<16; pc += 7 {
		// The runtime takes a return address.
		frames := runtime.CallersFrames([]uintptr{pc + 1})
		got := table.Append(nil, uint64(pc))
		f, _ := frames.Next()
		if f.Func == nil || f.File == "?" || f.Entry == pc+1 {
			continue // inlined, in which case Next wants all program counters, or between functions
		}
		if len(got) == 0 {
			t.Errorf("%#x: got nothing, want %s", pc, f.Function)
			continue
		}
		count++
		if last := got[0]; last.Func != f.Function || last.File != f.File || last.Line != f.Line {
			t.Errorf("%#x: got %+v, want %s %s:%d", pc, got, f.Function, f.File, f.Line)
		}
	}
	if count < 1000 {
		t.Errorf("compared %d addresses only", count)
	}
}

// TestMutations changes bytes of a table.
func TestMutations(t *testing.T) {
	_, data := own(t)
	here, _, _, _ := runtime.Caller(0)
	random := rand.New(rand.NewPCG(3, 5))
	for range 200 {
		changed := bytes.Clone(data)
		for range 200 {
			binary.LittleEndian.PutUint32(changed[16+random.IntN(len(changed)-20):], random.Uint32()>>random.IntN(32))
		}
		if took := turns.Spent(func() { attempt(changed, uint64(here)) }); took > 10*time.Second {
			t.Errorf("took %v", took)
		}
	}
}

func attempt(data []byte, addr uint64) {
	table, err := pcln.New(data, binary.LittleEndian)
	if err != nil {
		return
	}
	table.SetMemory(bytes.NewReader(data))
	for _, a := range []uint64{0, 1, 0x1000, 0x20000, addr, addr + 1, 1<<64 - 1} {
		table.Append(nil, a)
		table.FrameSize(a)
	}
}

// FuzzTable looks functions up in any bytes.
func FuzzTable(f *testing.F) {
	for _, magic := range []uint32{0xfffffffa, 0xfffffff0, 0xfffffff1} {
		seed := binary.LittleEndian.AppendUint32(nil, magic)
		seed = append(seed, 0, 0, 1, 8)
		for _, v := range []uint64{2, 1, 0, 80, 90, 100, 110, 120} {
			seed = binary.LittleEndian.AppendUint64(seed, v)
		}
		f.Add(append(seed, bytes.Repeat([]byte{0, 0, 0, 0, 16, 0, 0, 0}, 40)...), uint64(8))
	}
	f.Fuzz(func(t *testing.T, data []byte, addr uint64) { attempt(data, addr) })
}
