package reader_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// bytesAt is an io.ReaderAt and nothing else.
type bytesAt []byte

func (b bytesAt) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off >= int64(len(b)) {
		return 0, io.EOF
	}
	n := copy(p, b[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// TestAnyHost checks that every system can read a file of Linux, from memory and by
// its path.
func TestAnyHost(t *testing.T) {
	o := &object{}
	o.notes = func(o *object) []notes.Note {
		return []notes.Note{o.site("a", 4, 2, "8@%rdi -4@8(%rsp)"), o.site("b", 8, 0, "")}
	}
	data := o.build(t)
	path := filepath.Join(t.TempDir(), "object")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	inMemory, err := reader.NewFile(bytesAt(data))
	if err != nil {
		t.Fatal(err)
	}
	byPath, err := reader.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer byPath.Close()
	for how, f := range map[string]*reader.File{"NewFile": inMemory, "Open": byPath} {
		var names []string
		for p, err := range f.Probes() {
			if err != nil {
				t.Fatalf("%s: %v", how, err)
			}
			names = append(names, p.Name)
			site, err := p.Site()
			if err != nil || len(site.Bytes) == 0 || site.Optimizable && site.Kind == notes.SiteOther {
				t.Errorf("%s: the site of %s is %+v, %v", how, p.Name, site, err)
			}
			for _, a := range p.Arguments() {
				if a.Err != nil {
					t.Errorf("%s: %v", how, a.Err)
				}
			}
		}
		if len(names) != 2 || names[0] != "a" || names[1] != "b" || f.BuildID() == "" {
			t.Errorf("%s: got probes %q and build-id %q, want a, b and one", how, names, f.BuildID())
		}
		if err := f.Check(); err != nil {
			t.Logf("%s: %v", how, err)
		}
	}
	if _, err := reader.Open(t.TempDir()); err == nil {
		t.Error("a directory can be opened")
	}
}
