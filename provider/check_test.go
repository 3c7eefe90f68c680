//go:build linux

package provider_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/reader"
)

// check returns what sdtdump --check finds in an object.
func check(object []byte) error {
	f, err := reader.NewFile(bytes.NewReader(object))
	if err != nil {
		return err
	}
	return f.Check()
}

// TestCheck checks that a generated object has all that consumers need, and that
// Check reports what a spoiled one lacks.
func TestCheck(t *testing.T) {
	p := newProvider("checked")
	provider.NewProbe0(p, "none")
	provider.NewProbe6[[]byte, []byte, []byte, []byte, []byte, []byte](p, "twelve", "a", "b", "c", "d", "e", "f")
	provider.NewProbe3[float64, string, bool](p, "mixed", "a", "b", "c")
	provider.NewStructProbe[request](p, "record")
	load(t, p)
	object := objects(t, p)[0]
	if err := check(object); err != nil {
		t.Errorf("the generated object: %v", err)
	}
	for _, tt := range []struct{ old, new, want string }{
		{notes.ProbeSectionName + "\x00", ".prooes\x00", "bcc: checked:none: the semaphore"},
		{notes.BaseSectionName + "\x00", ".stapsdt.bass\x00", "gdb: without .stapsdt.base"},
		{notes.SectionName + "\x00", ".note.stapsda\x00", "every consumer: there is no section .note.stapsdt"},
		{".note.gnu.build-id\x00", ".note.gnu.build-ix\x00", "perf: without a build-id"},
		{"checked\x00none\x00", "checked\x00n-ne\x00", "perf: checked:n-ne cannot be the name of an event"},
		{"8@", "8f", "every consumer: checked:mixed: argument"},
		{"\x7fELF", "\x7fELG", "not an ELF file"},
	} {
		spoiled := bytes.ReplaceAll(object, []byte(tt.old), []byte(tt.new))
		if bytes.Equal(spoiled, object) {
			t.Errorf("%q is not in the object", tt.old)
		}
		err := check(spoiled)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q for %q: got %v, want an error with %q", tt.new, tt.old, err, tt.want)
		}
	}
	// A note has the site, the base and the semaphore before its names.
	noBase := bytes.Clone(object)
	at := bytes.Index(noBase, []byte("checked\x00none\x00"))
	clear(noBase[at-16 : at-8])
	if err := check(noBase); err == nil || !strings.Contains(err.Error(), "gdb, libbpf before 1.7: checked:none: the note's base is 0") {
		t.Errorf("without a base: got %v", err)
	}
	if err := check(object[:len(object)/2]); err == nil {
		t.Error("half an object passes")
	}
}

// FuzzCheck checks that Check survives damaged objects.
func FuzzCheck(f *testing.F) {
	p := newProvider("checked")
	provider.NewProbe2[int, string](p, "mixed", "a", "b")
	load(f, p)
	object := objects(f, p)[0]
	f.Add(uint32(0), []byte{})
	for _, at := range []uint32{40, 54, 56, 58, 60, 62} { // e_shoff, e_phentsize … e_shstrndx
		f.Add(at, []byte{0xff, 0xff})
	}
	f.Fuzz(func(t *testing.T, at uint32, with []byte) {
		b := bytes.Clone(object)
		if int(at) < len(b) {
			copy(b[at:], with)
		}
		if err := check(b); err != nil && bytes.Equal(b, object) {
			t.Errorf("what was not damaged: %v", err)
		}
	})
}
