package reader_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// BenchmarkProbes reads an object with 100,000 probes.
func BenchmarkProbes(b *testing.B) {
	const n = 100_000
	var raw []byte
	for i := range n {
		raw = notes.Note{Provider: "bench", Name: fmt.Sprint("probe_", i), Location: 0x1000, Args: "8@%rdi -4@%esi"}.Append(raw, binary.LittleEndian, elf.ELFCLASS64)
	}
	data := (&object{rawNotes: raw}).build(b)
	b.ReportAllocs()
	for b.Loop() {
		if probes, errs := read(bytes.NewReader(data)); probes != n || errs != 0 {
			b.Fatalf("got %d probes and %d errors", probes, errs)
		}
	}
}

// BenchmarkLibjvm reads a JDK's library: a file of some 24 MB with some 500
// probes, of which little is to be read.
func BenchmarkLibjvm(b *testing.B) {
	found, _ := filepath.Glob("/usr/lib/jvm/*/lib/server/libjvm.so")
	if len(found) == 0 {
		b.Skip("needs a JDK")
	}
	info, err := os.Stat(found[0])
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		f, err := reader.Open(found[0])
		if err != nil {
			b.Fatal(err)
		}
		for _, err := range f.Probes() {
			if err != nil {
				b.Fatal(err)
			}
		}
		f.Close()
	}
	b.ReportMetric(float64(info.Size())/(1<<20), "MB-file")
}
