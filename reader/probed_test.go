package reader_test

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/probed"
	"github.com/go-usdt/usdt/reader"
)

// open opens an object of elfgen's until the end of the test.
func open(t *testing.T, o probed.Object) *reader.File {
	t.Helper()
	f, err := reader.Open(o.Write(t, "lib.so"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestSharedSites finds the notes that have a place in common.
func TestSharedSites(t *testing.T) {
	f := open(t, probed.Object{Sites: []probed.Site{{Provider: "p", Name: "a"}, {Provider: "p", Name: "b", With: 1}, {Provider: "p", Name: "c"}}})
	shared := f.SharedSites()
	if len(shared) != 1 {
		t.Fatalf("%d places are shared, want one", len(shared))
	}
	for at, here := range shared {
		if len(here) != 2 || here[0].Name != "a" || here[1].Name != "b" || here[0].Location != at {
			t.Errorf("at %#x are %+v", at, here)
		}
	}
	for p := range f.Probes() {
		if p.Kind != reader.USDT || p.ByteOrder != binary.LittleEndian || p.Displacement() != 0 || p.IsGo() {
			t.Errorf("%s: kind %v, byte order %v, displacement %d, of Go %t", p.Name, p.Kind, p.ByteOrder, p.Displacement(), p.IsGo())
		}
		watchers, err := p.LocalWatchers()
		recorded, errRecorded := p.Recorded()
		if watchers != 0 || recorded || err != nil || errRecorded != nil {
			t.Errorf("%s of a file has %d watchers (%v), is recorded %t (%v)", p.Name, watchers, err, recorded, errRecorded)
		}
	}
	if !f.Stripped() || f.IsGo() {
		t.Errorf("an object without a table of symbols: stripped %t, Go's %t", f.Stripped(), f.IsGo())
	}
}

// TestAt makes probes of the instructions of a function.
func TestAt(t *testing.T) {
	f := open(t, probed.Object{Sites: []probed.Site{{Name: "work", Code: []byte{0x48, 0x89, 0xf8, 0xc3}}, {Name: "broken", Code: []byte{0x06, 0x90}}}})
	functions := map[string]reader.Function{}
	for fn, err := range f.Functions() {
		if err != nil {
			t.Fatal(err)
		}
		functions[fn.Symbols[0]] = fn
	}
	work, broken := functions["work"], functions["broken"]
	if p := work.At(3); p.SiteErr != nil || p.Name != "work+0x3" || p.Displacement() != 3 || p.Offset != work.Offset+3 {
		t.Errorf("at an instruction: %+v", p)
	}
	if p := work.At(1); p.SiteErr == nil || errors.Is(p.SiteErr, reader.ErrBoundary) {
		t.Errorf("within an instruction: %v", p.SiteErr)
	}
	if p := broken.At(1); !errors.Is(p.SiteErr, reader.ErrBoundary) {
		t.Errorf("behind bytes that are no instruction: %v, want ErrBoundary", p.SiteErr)
	}
	if work.Convention.IsGo() || !reader.GoStack.IsGo() {
		t.Error("conventions are mixed up")
	}
}

// TestNotLoaded says what helps a process that has declared probes only.
func TestNotLoaded(t *testing.T) {
	d := reader.Declared{Provider: "shop", Name: "sold"}
	if got := d.NotLoaded(7, 0); !strings.HasPrefix(got, "process 7 has declared shop:sold without loading") {
		t.Error(got)
	}
	if got := d.NotLoaded(7, 2); !strings.Contains(got, "shop:sold and 2 more") {
		t.Error(got)
	}
}

// TestEventsDir reads a directory that is no events directory, and one by hand.
func TestEventsDir(t *testing.T) {
	dir := t.TempDir()
	if reader.IsEventsDir(dir) || reader.IsEventsDir(filepath.Join(dir, "none")) {
		t.Error("a directory without probes is taken for an events directory")
	}
	at := filepath.Join(dir, "1", "shop", "sold")
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"address": "0x1000\n", "format": "name: sold\nformat:\n\tfield:usdt_net_ip peer;\toffset:0;\tsize:8;\tsigned:0;\n\tfield:unsigned long long __peer_len;\toffset:8;\tsize:8;\tsigned:0;\n\tfield:usdt_hex id;\toffset:16;\tsize:8;\tsigned:0;\n\tfield:unsigned long long __id_len;\toffset:24;\tsize:8;\tsigned:0;\n"} {
		if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if !reader.IsEventsDir(dir) {
		t.Error("it is not taken for an events directory")
	}
	found := 0
	for p, err := range reader.EventsDirProbes(dir) { // the process is init
		found++
		if err != nil || p.SiteErr != reader.ErrNoObject || p.Live.Address != 0x1000 || len(p.Type.Fields) != 2 {
			t.Fatalf("got %+v, %v", p, err)
		}
		if peer, id := p.Type.Fields[0], p.Type.Fields[1]; peer.Meaning != reader.NetIP || peer.CType != "usdt_net_ip" || id.Meaning != reader.Hex || id.LenOffset != 24 {
			t.Errorf("fields %+v, %+v", peer, id)
		}
	}
	if found != 1 {
		t.Errorf("%d probes, want one", found)
	}
	if err := os.WriteFile(filepath.Join(at, "address"), []byte(strings.Repeat("0", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for p, err := range reader.EventsDirProbes(dir) {
		if err == nil {
			t.Errorf("an address of 100 digits is %#x", p.Live.Address)
		}
	}
}
