package jit_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/symbols/internal/jit"
)

// TestPerfMap reads a map that grows, with a line that is not whole yet and code that is
// replaced.
func TestPerfMap(t *testing.T) {
	var c jit.Code
	text := "1000 100 first\n0x2000 0x80 LazyCompile:~f /a b.js:1\nnonsense\n3000 zz x\n1080 10 sec"
	end, err := c.ReadPerfMap(strings.NewReader(text), 0)
	if err != nil || int(end) != strings.LastIndexByte(text, '\n')+1 {
		t.Fatalf("got %d, %v, want the end of the last whole line", end, err)
	}
	text += "ond\n2000 40 again\n"
	if end, err = c.ReadPerfMap(strings.NewReader(text), end); err != nil || int(end) != len(text) {
		t.Fatalf("got %d, %v, want %d", end, err, len(text))
	}
	for addr, want := range map[uint64]string{
		0xfff: "", 0x1000: "first", 0x107f: "first", 0x1080: "second", 0x108f: "second", 0x1090: "first", 0x10ff: "first",
		0x1100: "", 0x2000: "again", 0x2040: "LazyCompile:~f /a b.js:1", 0x2080: "", 0x3000: "",
	} {
		if got, _, _ := c.Find(addr); got != want {
			t.Errorf("%#x: got %q, want %q", addr, got, want)
		}
	}
}

// dump makes a jitdump file of records.
func dump(records ...[]byte) []byte {
	var b bytes.Buffer
	for _, v := range []any{uint32(0x4a695444), uint32(1), uint32(40), uint32(62), uint32(0), uint32(7), uint64(1), uint64(0)} {
		binary.Write(&b, binary.LittleEndian, v)
	}
	for _, r := range records {
		b.Write(r)
	}
	return b.Bytes()
}

// record makes a record of words and then bytes.
func record(id uint32, values ...any) []byte {
	var body bytes.Buffer
	for _, v := range values {
		if s, ok := v.(string); ok {
			body.WriteString(s)
		} else {
			binary.Write(&body, binary.LittleEndian, v)
		}
	}
	var b bytes.Buffer
	binary.Write(&b, binary.LittleEndian, []uint32{id, uint32(16 + body.Len()), 0, 0})
	b.Write(body.Bytes())
	return b.Bytes()
}

func load(addr, size uint64, name string) []byte {
	return record(0, uint32(1), uint32(1), addr, addr, size, uint64(1), name+"\x00", strings.Repeat("c", int(size)))
}

// TestDump reads a jitdump file with lines, and code that moves.
func TestDump(t *testing.T) {
	lines := record(2, uint64(0x1000), uint64(3),
		uint64(0x1000), uint32(10), uint32(0), "/src/A.java\x00",
		uint64(0x1020), uint32(12), uint32(0), "\xff\x00",
		uint64(0x1030), uint32(3), uint32(0), "/src/B.java\x00")
	whole := dump(lines, load(0x1000, 0x80, "A::run"), load(0x2000, 0x10, "stub"),
		record(1, uint32(1), uint32(1), uint64(0x2000), uint64(0x2000), uint64(0x5000), uint64(0x10), uint64(2)),
		record(99, "unknown"), load(0x3000, 0x20, "last"))
	// However many bytes are there at a time, the result is the same.
	for step := 1; step < len(whole); step += 37 {
		var c jit.Code
		var d jit.Dump
		for n := 0; n < len(whole)+step; n += step {
			if err := c.ReadDump(&d, bytes.NewReader(whole[:min(n, len(whole))])); err != nil {
				t.Fatal(err)
			}
		}
		for addr, want := range map[uint64]string{
			0x1000: "A::run /src/A.java:10", 0x101f: "A::run /src/A.java:10", 0x1020: "A::run /src/A.java:12",
			0x107f: "A::run /src/B.java:3", 0x1080: "", 0x2000: "stub :0", 0x5004: "stub :0", 0x3010: "last :0",
		} {
			got := ""
			if name, line, ok := c.Find(addr); ok {
				got = fmt.Sprintf("%s %s:%d", name, line.File, line.Line)
			}
			if got != want {
				t.Fatalf("%#x, %d bytes at a time: got %q, want %q", addr, step, got, want)
			}
		}
	}
}

// FuzzCode reads any bytes as both kinds of files.
func FuzzCode(f *testing.F) {
	f.Add([]byte("1000 100 first\n"))
	f.Add(dump(load(0x1000, 0x80, "A::run")))
	f.Fuzz(func(t *testing.T, data []byte) {
		var c jit.Code
		var d jit.Dump
		c.ReadPerfMap(bytes.NewReader(data), 0)
		c.ReadDump(&d, bytes.NewReader(data))
		if name, _, ok := c.Find(0x1000); ok == (name == "") {
			t.Errorf("got %q, %v", name, ok)
		}
	})
}
