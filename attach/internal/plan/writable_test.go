package plan

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"testing"

	"github.com/go-usdt/usdt/internal/sys"
	"github.com/go-usdt/usdt/internal/systest/probed"
	"github.com/go-usdt/usdt/reader"
)

// TestWritable refuses sites in segments that are mapped writable, and says so when it checks the file.
func TestWritable(t *testing.T) {
	o := probed.Object{Sites: []probed.Site{{Provider: "p", Name: "probe"}, {Name: "function"}}}
	path := o.Write(t, "lib.so")
	for _, writable := range []bool{false, true} {
		if writable {
			patchCode(t, path)
		}
		f, err := reader.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var all []reader.Probe
		for p, err := range f.Probes() {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, p)
		}
		for fn, err := range f.Functions() {
			if err != nil {
				t.Fatal(err)
			}
			fn.Path = path
			all = append(all, fn.Entry())
		}
		if len(all) < 2 {
			t.Fatalf("%d sites", len(all))
		}
		for i := range all {
			if d := planner(t, false, sys.NoOptimization, false).Plan(&all[i], 0); errors.Is(d.Reason, ErrSilent) != writable {
				t.Errorf("writable %v: %s is refused with %v", writable, all[i].Name, d.Reason)
			}
			if d := planner(t, true, sys.NoOptimization, false).Plan(&all[i], 0); d.Reason != nil {
				t.Errorf("writable %v: %s is refused though forced: %v", writable, all[i].Name, d.Reason)
			}
		}
		if err := f.Check(); writable && (err == nil || !bytes.Contains([]byte(err.Error()), []byte("linux: p:probe: the site"))) {
			t.Errorf("the check of a writable segment says %v", err)
		}
	}
}

// patchCode makes the segments of a file's code writable.
func patchCode(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const size, flags = 56, 4 // of an Elf64_Phdr, and where p_flags is in it
	at, n := binary.LittleEndian.Uint64(b[32:]), binary.LittleEndian.Uint16(b[56:])
	for i := range uint64(n) {
		p := b[at+i*size:]
		if f := binary.LittleEndian.Uint32(p[flags:]); elf.ProgType(binary.LittleEndian.Uint32(p)) == elf.PT_LOAD && f&uint32(elf.PF_X) != 0 {
			binary.LittleEndian.PutUint32(p[flags:], f|uint32(elf.PF_W))
		}
	}
	if err := os.WriteFile(path, b, 0o755); err != nil {
		t.Fatal(err)
	}
}
