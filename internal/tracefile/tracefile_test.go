package tracefile_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf/btf"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/decode"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/internal/tracefile"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/symbols"
)

// typed returns a probe with values of most kinds, and the shape of its records.
func typed(t testing.TB) (*reader.Probe, *shape.Shape) {
	t.Helper()
	u32, u64 := &btf.Int{Name: "unsigned int", Size: 4}, &btf.Int{Name: "unsigned long", Size: 8}
	char := &btf.Int{Name: "char", Size: 1, Encoding: btf.Char}
	text := func(name string, at btf.Bits) []btf.Member {
		return []btf.Member{{Name: name, Type: &btf.Pointer{Target: char}, Offset: at}, {Name: "__" + name + "_len", Type: u64, Offset: at + 64}}
	}
	peer := &btf.Struct{Name: "peer", Size: 32}
	peer.Members = append(text("host", 0), btf.Member{Name: "port", Type: u32, Offset: 128}, btf.Member{Name: "next", Type: &btf.Pointer{Target: peer}, Offset: 192})
	named := &btf.Struct{Name: "named", Size: 16, Members: text("name", 0)}
	st := &btf.Struct{Size: 104, Members: []btf.Member{
		{Name: "id", Type: u64}, {Name: "peer", Type: &btf.Pointer{Target: peer}, Offset: 64},
		{Name: "ports", Type: &btf.Array{Type: u32, Nelems: 2, Index: u32}, Offset: 128},
		{Name: "pair", Type: &btf.Array{Type: named, Nelems: 2, Index: u32}, Offset: 192},
		{Name: "numbers", Type: &btf.Pointer{Target: u32}, Offset: 448}, {Name: "__numbers_len", Type: u64, Offset: 512},
		{Name: "names", Type: &btf.Pointer{Target: named}, Offset: 576}, {Name: "__names_len", Type: u64, Offset: 640},
		{Name: "at", Type: &btf.Typedef{Name: notes.DurationType, Type: &btf.Int{Name: "long", Size: 8, Encoding: btf.Signed}}, Offset: 704},
	}}
	p := &reader.Probe{Note: notes.Note{Provider: "shop", Name: "order", Location: 64}, Path: "/bin/shop", Live: &reader.Live{PID: 7}}
	p.Type = &reader.Type{Struct: st, Fields: reader.Fields(st), Record: notes.TypeRecord{BlockSize: 104}}
	s, err := shape.OfBlock(p.Type, 64, func(path string) (exact, ok bool) { return path == "peer", path == "peer" })
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range s.Fields {
		if f.Err != nil {
			t.Fatalf("%s: %v", f.Name, f.Err)
		}
	}
	return p, s
}

// memory is that of a process: what is at each address.
type memory map[uint64][]byte

// firing returns a record of the probe that typed returns.
func firing(s *shape.Shape, id uint64) []byte {
	le := binary.LittleEndian
	block := make([]byte, 104)
	put := func(b []byte, at int, words ...uint64) {
		for i, w := range words {
			le.PutUint64(b[at+8*i:], w)
		}
	}
	peer, names := make([]byte, 32), make([]byte, 16)
	put(peer, 0, 0x2000, 9, 80, 0)
	put(names, 0, 0x2000, 4)
	put(block, 0, id, 0x1000, 1<<32|2, 0x2000, 4, 0x2000, 2, 0x3000, 2, 0x4000, 1, 1500)
	mem := memory{0x1000: peer, 0x2000: []byte("localhost"), 0x3000: {1, 0, 0, 0, 2, 0, 0, 0}, 0x4000: names}
	header := record.Header{Time: 1000 + id, PID: 7, TID: 8, Comm: "shop"}
	return s.Layout.Capture(nil, &header, nil, block, mem.read)
}

// read reads what begins at an address.
func (m memory) read(at uint64, b []byte) bool { return copy(b, m[at]) == len(b) }

// untyped describes a site that has numbers, text and a stack beside its slots.
func untyped() *tracefile.Site {
	return &tracefile.Site{
		Number: 1, Probe: tracefile.Probe{Kind: "usdt", Provider: "c", Name: "p", Args: "8@%rdi", Path: "/bin/c", Machine: 62, Class: 2},
		Carrier: "thread", CarrierSlot: -1, CPU: 2, UID: -1,
		Layout: tracefile.Layout{Slots: 3, Limit: 8, Strings: []tracefile.String{{Slot: 0}}, Stacks: 4},
		Fields: []tracefile.Field{
			{Name: "arg0", From: "string", Kind: "string", Size: 8, Offset: 40}, {Name: "arg1", From: "number", Kind: "int", Size: 4, Read: 1, Offset: 48},
			{Name: "arg2", From: "constant", Kind: "uint", Bits: 5}, {Name: "arg3", From: "nowhere", Err: "it is unknown"},
		},
	}
}

// sample returns a file of n events of one site and n of another.
func sample(t testing.TB, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := tracefile.NewWriter(&b, &tracefile.Info{Begun: time.Unix(1, 0).UTC(), Selectors: []string{"shop:*"}, Where: "id > 1"})
	if err != nil {
		t.Fatal(err)
	}
	p, s := typed(t)
	d := tracefile.Describe(p, s)
	d.CarrierSlot, d.CPU, d.UID = -1, -1, -1
	w.Site(d)
	w.Site(untyped())
	bare := binary.LittleEndian.AppendUint64(nil, 3)               // bytes of the text
	bare = binary.LittleEndian.AppendUint64(bare, uint64(1)<<32-5) // -5
	bare = append(bare, "\x02\x00\x00\x00\x00\x00\x00\x00abc"...)
	for i := range n {
		w.Add(firing(s, uint64(i)), 5000)
		other := make([]byte, record.HeaderSize)
		other[record.Site] = 1
		number, err := w.Stack(stacked(i))
		if err != nil {
			t.Fatal(err)
		}
		w.Add(binary.LittleEndian.AppendUint64(append(other, bare...), number), 5000+int64(i/10))
	}
	w.Count(&tracefile.Counts{Fired: 9, Recorded: uint64(2 * n), Lost: 2})
	if err := w.End(); err != nil {
		t.Fatal(err)
	}
	if w.Written() != int64(b.Len()) {
		t.Errorf("%d bytes are written, of %d", w.Written(), b.Len())
	}
	return b.Bytes()
}

// stacked returns one of three stacks, the last of which has an error.
func stacked(i int) *tracefile.Stack {
	at := symbols.Frame{Address: 16, Module: "/bin/c", BuildID: "c0ffee", Offset: 0x116}
	inner, outer, caller := at, at, at
	inner.Func, inner.File, inner.Line, inner.Inlined = "inner(int)", "/src/c.c", 7, true
	outer.Func, outer.File, outer.Line = "outer", "/src/c.c", 70
	caller.Address, caller.Offset = 32, 0x132
	s := &tracefile.Stack{PCs: []uint64{16, 32, 32}, Names: [][]symbols.Frame{{inner, outer}, {caller}, {caller}}}
	if i %= 3; i == 1 {
		s.PCs, s.Names = s.PCs[:1], s.Names[:1]
	} else if i == 2 {
		s = &tracefile.Stack{Err: "it could not be read"}
	}
	return s
}

// events decodes all that a file has.
func events(f *tracefile.File) (all []string, err error) {
	d := decode.NewDecoder(func(site uint32) (*shape.Shape, *reader.Probe) {
		s := *f.Sites[site].Shape
		if layout := *s.Layout; f.Sites[site].Layout.Stacks > 0 {
			layout.Stack = record.Stack{Most: f.Sites[site].Layout.Stacks, Saved: true}
			s.Layout = &layout
		}
		return &s, f.Sites[site].Probe
	}, func(ns uint64) time.Time { return time.Unix(0, int64(ns)).UTC() })
	d.KnowStacks(func(number uint64) *event.Stack {
		s := f.Stack(number)
		switch {
		case s == nil:
			return nil
		case s.Err == "":
			return decode.SavedStack(s.PCs, s.Names, nil)
		}
		return decode.SavedStack(s.PCs, s.Names, errors.New(s.Err))
	})
	for rec, err := range f.Records() {
		if err != nil {
			return all, err
		}
		ev, err := d.Decode(rec)
		if v, viewErr := d.View(rec); viewErr == nil {
			for i := range v.Len() {
				v.Arg(i)
			}
		}
		if f.Sites[record.Record(rec).Site()].Shape.Layout.Shorten(rec, 2); err != nil {
			all = append(all, err.Error())
			continue
		}
		b, err := json.Marshal(ev)
		if err != nil {
			return all, err
		}
		all = append(all, string(b))
	}
	return all, nil
}

// TestFile checks that a file has what was written.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events")
	if err := os.WriteFile(path, sample(t, 1), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := tracefile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !tracefile.Is(path) || !f.Ended || f.Torn != 0 || f.Info.Where != "id > 1" || f.Counts.Lost != 2 || len(f.Sites) != 2 {
		t.Errorf("%+v", f)
	}
	p, s := typed(t)
	errs := cmp.Comparer(func(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) })
	if d := cmp.Diff(s, f.Sites[0].Shape, errs, cmpopts.EquateEmpty(), cmp.AllowUnexported(record.Layout{})); d != "" {
		t.Errorf("shape (-written +read):\n%s", d)
	}
	if got := f.Sites[0].Probe; got.Provider != p.Provider || got.Name != p.Name || got.Live.PID != 7 || got.Type.Fields[1].CType != "struct peer *" {
		t.Errorf("probe %+v", got)
	}
	got, err := events(f)
	want := []string{
		`{"time":"1970-01-01T00:00:00.000006000Z","pid":7,"tid":8,"comm":"shop","provider":"shop","name":"order","args":{"id":0,"peer":{"host":"localhost","port":80,"next":0},"ports":[2,1],"pair":[{"name":"loca"},{"name":"lo"}],"numbers":[1,2],"names":[{"name":"loca"}],"at":1500}}`,
		`{"time":"1970-01-01T00:00:00.000005000Z","pid":null,"tid":null,"comm":"","provider":"c","name":"p","args":{"arg0":"abc","arg1":-5,"arg2":5,"arg3":null},"errors":{"arg3":"it is unknown"},"stack":[{"addr":16,"func":"inner(int)","file":"/src/c.c","line":7,"inlined":true,"module":"/bin/c","offset":278,"build_id":"c0ffee"},{"addr":16,"func":"outer","file":"/src/c.c","line":70,"module":"/bin/c","offset":278,"build_id":"c0ffee"},{"addr":32,"module":"/bin/c","offset":306,"build_id":"c0ffee"},{"addr":32,"module":"/bin/c","offset":306,"build_id":"c0ffee"}]}`,
	}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
}

// TestTorn checks that a file which ends anywhere has the events before.
func TestTorn(t *testing.T) {
	whole := sample(t, 12)
	f, err := tracefile.Read(bytes.NewReader(whole), int64(len(whole)))
	if err != nil {
		t.Fatal(err)
	}
	want, err := events(f)
	if err != nil || len(want) != 24 {
		t.Fatalf("%d events, %v", len(want), err)
	}
	last, most := int64(0), 0
	for n := 0; n < len(whole); n += 1 + n/100%7 {
		f, err := tracefile.Read(bytes.NewReader(whole[:n]), int64(n))
		if n < 16 {
			if !errors.Is(err, tracefile.ErrNot) {
				t.Errorf("%d bytes: %v", n, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		got, err := events(f)
		if err != nil || f.Ended || len(got) < most || len(got) > len(want) || len(got) > 0 && !cmp.Equal(got, want[:len(got)]) {
			t.Fatalf("%d bytes: %d events, %v", n, len(got), err)
		}
		most = len(got)
		if kept := int64(n) - f.Torn; kept < last {
			t.Fatalf("%d bytes: %d are torn", n, f.Torn)
		} else {
			last = kept
		}
	}
	if most != 24 {
		t.Errorf("without its end the file has %d events", most)
	}
}

// TestDamaged checks that a byte that has changed costs the chunk that has it, and that it
// is counted.
func TestDamaged(t *testing.T) {
	whole := sample(t, 12)
	for i := 0; i < len(whole); i += 1 + i/100%7 {
		b := bytes.Clone(whole)
		b[i] ^= 0x20
		f, err := tracefile.Read(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("byte %d: %v", i, err)
			}
			continue
		}
		got, err := events(f)
		if err != nil || len(got) == 24 && f.Torn == 0 && f.Damaged == 0 && i >= 12 && f.Ended {
			if i >= 16 {
				t.Errorf("byte %d: nobody noticed, %v", i, err)
			}
		}
		if all := uint64(len(got)) + f.Illegible; f.Torn == 0 && all != 24 {
			t.Errorf("byte %d: %d events, %d illegible; want 24 together", i, len(got), f.Illegible)
		}
	}
}

// TestNewer checks that a later version is refused.
func TestNewer(t *testing.T) {
	b := sample(t, 1)
	b[8] = 2
	if _, err := tracefile.Read(bytes.NewReader(b), int64(len(b))); err == nil || err.Error() != "it has version 2, and this program reads version 1: use a newer one" {
		t.Errorf("%v", err)
	}
}

// TestWrongSites checks that what would lead a decoder out of its record is refused.
func TestWrongSites(t *testing.T) {
	for name, change := range map[string]func(d *tracefile.Site){
		"slots":  func(d *tracefile.Site) { d.Layout.Slots = 33 },
		"limit":  func(d *tracefile.Site) { d.Layout.Limit = -1 },
		"string": func(d *tracefile.Site) { d.Layout.Strings[0].Slot = 3 },
		"length": func(d *tracefile.Site) {
			d.Layout.Strings[0] = tracefile.String{Counted: true, LengthSlot: 1, LengthSize: 3}
		},
		"sized":    func(d *tracefile.Site) { d.Layout.Strings[0].Sized = true },
		"stack":    func(d *tracefile.Site) { d.Layout.Stacks = 1025 },
		"offset":   func(d *tracefile.Site) { d.Fields[1].Offset = 61 },
		"before":   func(d *tracefile.Site) { d.Fields[1].Offset = -8 },
		"size":     func(d *tracefile.Site) { d.Fields[1].Size = 3 },
		"read":     func(d *tracefile.Site) { d.Fields[1].Read = 64 },
		"index":    func(d *tracefile.Site) { d.Fields[0].Index = 1 },
		"source":   func(d *tracefile.Site) { d.Fields[0].From = "sky" },
		"kind":     func(d *tracefile.Site) { d.Fields[0].Kind = "sky" },
		"constant": func(d *tracefile.Site) { d.Fields[2].Kind = "string" },
		"raw":      func(d *tracefile.Site) { d.Fields[1] = tracefile.Field{From: "raw", Offset: 40, Count: 25} },
		"array":    func(d *tracefile.Site) { d.Fields[1] = tracefile.Field{From: "array", Offset: 40, Count: 2, Stride: 8} },
		"element":  func(d *tracefile.Site) { d.Fields[1] = array(tracefile.Field{From: "number", Offset: 48, Size: 8}) },
		"in array": func(d *tracefile.Site) {
			d.Fields[1] = array(tracefile.Field{From: "pointer", Offset: 40, Parts: make([]tracefile.Field, 1)})
		},
		"indirect":     func(d *tracefile.Site) { d.Layout.Indirects = make([]tracefile.Indirect, 1) },
		"cpu":          func(d *tracefile.Site) { d.CPU = 3 },
		"function":     func(d *tracefile.Site) { d.Probe.Kind = "uprobe" },
		"go addresses": func(d *tracefile.Site) { d.Fields[1] = tracefile.Field{From: "goaddr", Offset: 40} },
	} {
		d := untyped()
		change(d)
		var b bytes.Buffer
		w, err := tracefile.NewWriter(&b, &tracefile.Info{})
		if err == nil {
			err = w.Site(d)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tracefile.Read(bytes.NewReader(b.Bytes()), int64(b.Len())); err == nil || !strings.HasPrefix(err.Error(), "it describes a site wrongly: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func array(element tracefile.Field) tracefile.Field {
	return tracefile.Field{From: "array", Offset: 40, Count: 2, Stride: 8, Parts: []tracefile.Field{element}}
}

// FuzzFile decodes whatever a file says it has. Checksums are made right first, so that
// they protect nobody.
func FuzzFile(f *testing.F) {
	f.Add(sample(f, 2))
	f.Fuzz(func(t *testing.T, b []byte) {
		tracefile.Sign(b)
		file, err := tracefile.Read(bytes.NewReader(b), int64(len(b)))
		if err == nil {
			events(file)
		}
	})
}
