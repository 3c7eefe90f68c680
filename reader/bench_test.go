package reader_test

import (
	"bytes"
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
		raw = notes.Note{Provider: "bench", Name: fmt.Sprint("probe_", i), Location: 0x1000, Args: "8@%rdi -4@%esi"}.Append(raw, binary.LittleEndian, notes.ELFCLASS64)
	}
	data := (&object{rawNotes: raw}).build(b)
	b.ReportAllocs()
	for b.Loop() {
		if probes, errs := read(bytes.NewReader(data)); probes != n || errs != 0 {
			b.Fatalf("got %d probes and %d errors", probes, errs)
		}
	}
}

// BenchmarkLibjvm reads a JDK's library, or an object of its size: 24 MB with 531
// probes. Little of it needs to be read.
func BenchmarkLibjvm(b *testing.B) {
	var path string
	if found, _ := filepath.Glob("/usr/lib/jvm/java-17-openjdk-*/lib/server/libjvm.so"); len(found) > 0 {
		path = found[0]
	} else {
		var raw []byte
		for i := range 531 {
			raw = notes.Note{Provider: "hotspot", Name: fmt.Sprint("probe_", i), Location: 0x1000, Args: fmt.Sprintf("8@%%rdi -4@%d(%%rsp)", i%128)}.Append(raw, binary.LittleEndian, notes.ELFCLASS64)
		}
		path = filepath.Join(b.TempDir(), "libjvm.so")
		o := &object{rawNotes: raw, sections: map[string][]byte{".debug_info": make([]byte, 24<<20)}}
		if err := os.WriteFile(path, o.build(b), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		f, err := reader.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		n = 0
		for _, err := range f.Probes() {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		f.Close()
	}
	b.ReportMetric(float64(n), "probes")
	b.ReportMetric(float64(info.Size())/(1<<20), "MB-file")
}
