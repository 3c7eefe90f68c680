package reader_test

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/systest/witness"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// TestNothingBeside maps an object that names files beside it, as the binary of its
// debug symbols or as its debug symbols, and checks that a tracer that looks at the
// process does not open them, because the author of the object chose what they are.
func TestNothingBeside(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	symbols := (&object{notes: one}).build(t)
	o := &object{notes: one, sections: map[string][]byte{
		".gnu_debuglink": binary.LittleEndian.AppendUint32([]byte("symbols\x00"), crc32.ChecksumIEEE(symbols)),
	}}
	whole := o.build(t)
	data := edit(t, whole, ".text", func(s *elf.Section64) { s.Type = uint32(elf.SHT_NOBITS) })

	if err := errors.Join(unix.Mkfifo(in("fifo"), 0o600), os.Mkdir(in(".debug"), 0o700)); err != nil {
		t.Fatal(err)
	}
	watched := []string{in("fifo")}
	kinds := map[string]func(path string) error{
		"fifo": func(path string) error { return nil }, // it is there
		"link": func(path string) error { return os.Symlink(in("fifo"), path) },
		"file": func(path string) error { return os.WriteFile(path, whole, 0o600) },
	}
	if unix.Mknod(in("null"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))) == nil { // takes root
		kinds["device"] = func(path string) error { return unix.Mknod(path, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))) }
	}
	for kind, beside := range kinds {
		if err := os.WriteFile(in(kind+".debug"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(in(kind + ".debug"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		mapped(t, int(f.Fd()), o)
		if err := beside(in(kind)); err != nil {
			t.Fatal(err)
		}
		watched = append(watched, in(kind))
	}
	if err := errors.Join(os.WriteFile(in("symbols"), symbols, 0o600), unix.Mkfifo(in(".debug/symbols"), 0o600)); err != nil {
		t.Fatal(err)
	}
	w := witness.Watch(t, append(watched, in("symbols"), in(".debug/symbols"))...)

	p, err := reader.OpenProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	ask := func(p *reader.Probe) {
		p.Function()
		p.Site()
		p.Resolve(&notes.Arg{Symbol: "a"})
		if filepath.Ext(p.Attachable()) != ".debug" && p.Live != nil {
			t.Errorf("the code of %s is said to be in %s", p.Path, p.Attachable())
		}
	}
	found := 0
	for p, err := range p.Probes() {
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Dir(p.Path) == dir {
			found++
			ask(&p)
		}
	}
	for _, err := range p.Functions(func(path string) bool { return filepath.Dir(path) == dir }) {
		if err != nil {
			t.Error(err)
		}
	}
	// A tracer also reads mapped files by themselves.
	for kind := range kinds {
		f, err := os.Open(in(kind + ".debug"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		file, err := reader.NewFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for p := range file.Probes() {
			ask(&p)
		}
		for range file.Functions() {
		}
	}
	if opened := w.Opened(); len(opened) > 0 {
		t.Errorf("opened %q", opened)
	}
	if found != len(kinds) {
		t.Errorf("found %d probes, want %d", found, len(kinds))
	}

	// A user who names a file wants what is beside it, if it is a file.
	for kind := range kinds {
		f, err := reader.Open(in(kind + ".debug"))
		if err != nil {
			t.Fatal(err)
		}
		for p := range f.Probes() {
			if got, want := p.OpenPath, map[string]string{"file": in("file")}[kind]; got != want {
				t.Errorf("the code of %s is said to be in %q, want %q", p.Path, got, want)
			}
			p.Function()
		}
		f.Close()
	}
	for _, path := range w.Opened() {
		if path != in("file") && path != in("symbols") {
			t.Errorf("opened %s", path)
		}
	}
}
