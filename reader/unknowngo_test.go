package reader_test

import (
	"bytes"
	"debug/elf"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/reader"
)

// TestFunctionsUnknownGo reads programs of versions of Go that are not known. Moved words
// of moduledata make no difference; where arguments are is not guessed.
func TestFunctionsUnknownGo(t *testing.T) {
	needs.Tools(t, "go", "strip")
	prog := filepath.Join(t.TempDir(), "prog")
	needs.Run(t, "go", "build", "-o", prog, "testdata/gofunc.go")
	want := linkedAt(t, prog, "main.work")
	change := func(name, section string, change func(data []byte)) string {
		data, err := os.ReadFile(prog)
		if err != nil {
			t.Fatal(err)
		}
		f, err := elf.NewFile(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		s := f.Section(section)
		change(data[s.Offset:][:s.Size])
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, data, 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}

	moved := change("moved", ".go.module", func(data []byte) { copy(data[8*8:], bytes.Clone(data[8*7:])) })
	stripped := filepath.Join(t.TempDir(), "stripped")
	needs.Run(t, "strip", "-o", stripped, moved)
	if fn := functionsOf(t, stripped)["main.work"]; fn.Address != want || fn.Convention != reader.GoRegisters {
		t.Errorf("a word more: got %+v, want it at %#x", fn, want)
	}

	f, err := reader.Open(change("unknown", ".gopclntab", func(data []byte) { data[0] ^= 0x10 }))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var said error
	found := false
	for fn, err := range f.Functions() {
		if err != nil {
			said = err
		} else if fn.Symbols[0] == "main.work" {
			found = true
			arg, err := fn.Argument(0)
			if _, result := fn.Result(); fn.Convention != reader.GoUnknown || err == nil || result == nil {
				t.Errorf("unknown: got convention %d, argument %+v and %v, want none", fn.Convention, arg, err)
			}
		}
	}
	if !found || said == nil || !strings.Contains(said.Error(), "known versions of Go") {
		t.Errorf("unknown: main.work is found: %t, and said: %v", found, said)
	}
}
