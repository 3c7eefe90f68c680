package tracefile_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/tracefile"
	"github.com/go-usdt/usdt/symbols"
)

// documented returns the file that FORMAT.md shows, without its chunks of JSON.
func documented(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := tracefile.NewWriter(&b, &tracefile.Info{})
	if err != nil {
		t.Fatal(err)
	}
	header := bytes.Clone(b.Bytes()[:16])
	b.Reset()
	rec := make([]byte, record.HeaderSize)
	rec[record.Site] = 3
	binary.LittleEndian.PutUint64(rec[record.Time:], 100_000_000_000)
	binary.LittleEndian.PutUint64(rec[record.Task:], 4711<<32|4712)
	copy(rec[record.Comm:], "myapp")
	number, err := w.Stack(&tracefile.Stack{PCs: []uint64{0x401136}, Names: [][]symbols.Frame{{{Address: 0x401136, Func: "main", Module: "/bin/myapp", Offset: 0x1136}}}})
	if err != nil {
		t.Fatal(err)
	}
	rec = binary.LittleEndian.AppendUint64(rec, 200)
	if err := w.Add(binary.LittleEndian.AppendUint64(rec, number), 1795373727194204736); err != nil {
		t.Fatal(err)
	}
	if err := w.End(); err != nil {
		t.Fatal(err)
	}
	return append(header, b.Bytes()...)
}

// TestFormat compares what is written with the bytes in FORMAT.md.
func TestFormat(t *testing.T) {
	doc, err := os.ReadFile("../../FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(doc), "\n## The file of sdttrace record")
	if !ok {
		t.Fatal("FORMAT.md has no such section")
	}
	if want := strings.TrimSpace(hex.Dump(documented(t))); !strings.Contains(section, want) {
		t.Errorf("FORMAT.md does not have\n%s", want)
	}
}
