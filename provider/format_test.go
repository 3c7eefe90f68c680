//go:build linux && amd64

package provider_test

import (
	"bytes"
	"debug/elf"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/provider"
)

// TestFormatExample checks that FORMAT.md shows the note that is written.
func TestFormatExample(t *testing.T) {
	opts := options()
	opts.Site = provider.SiteNop5 // determines the offsets
	p := fresh("hello", opts)
	provider.NewProbe3[uint64, string, float64](p, "tick", "seq", "msg", "load")
	load(t, p)
	f, err := elf.NewFile(bytes.NewReader(objects(t, p)[0]))
	if err != nil {
		t.Fatal(err)
	}
	data, err := f.Section(notes.SectionName).Data()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("../FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	if dump := hex.Dump(data); !strings.Contains(string(doc), dump) {
		t.Errorf("FORMAT.md does not have this note of hello:tick:\n%s", dump)
	}
}
