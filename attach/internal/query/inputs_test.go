package query

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/reader"
)

// TestJoin checks which kinds the values of two sites have in common, and which numbers then
// exceed that kind.
func TestJoin(t *testing.T) {
	number := func(kind reader.FieldKind, size uint8) Input {
		return Input{Source: InputOperand, Kind: kind, Size: size}
	}
	constant := func(v int64) Input {
		return Input{Source: InputConstant, Kind: reader.Int, Size: 8, Value: uint64(v)}
	}
	duration := number(reader.Int, 8)
	duration.Meaning = reader.Duration
	for _, test := range []struct {
		name    string
		a, b    Input
		kind    reader.FieldKind // 0 if there is none
		exceeds bool             // a number of a with the highest bit set
	}{
		{"equal", number(reader.Uint, 8), number(reader.Uint, 4), reader.Uint, false},
		{"signs", number(reader.Uint, 8), number(reader.Int, 4), reader.Int, true},
		{"signs of fewer bits", number(reader.Uint, 4), number(reader.Int, 4), reader.Int, false},
		{"a constant that is not negative", number(reader.Uint, 8), constant(7), reader.Uint, false},
		{"a negative constant", number(reader.Uint, 8), constant(-7), reader.Int, true},
		{"constants", constant(7), constant(-7), reader.Int, false},
		{"floats", number(reader.Float, 8), number(reader.Float, 8), reader.Float, false},
		{"text and number", number(reader.String, 8), number(reader.Uint, 8), 0, false},
		{"meanings", duration, number(reader.Int, 8), 0, false},
	} {
		for _, turn := range []bool{false, true} {
			a, b := test.a, test.b
			if turn {
				a, b = b, a
			}
			both, ok := a.Join(&b)
			if ok != (test.kind != 0) || ok && both.Kind != test.kind {
				t.Errorf("%s: kind %d (%v), want %d", test.name, both.Kind, ok, test.kind)
			}
		}
		if test.kind == 0 {
			continue
		}
		in := test.a
		in.Widen(&Input{Kind: test.kind, Size: 8})
		if got := in.Exceeds(1 << 63); got != test.exceeds || in.Exceeds(1) || in.Kind != test.kind {
			t.Errorf("%s: 2^63 exceeds kind %d: %v, want %v of kind %d", test.name, in.Kind, got, test.exceeds, test.kind)
		}
		if in.Source != InputConstant && in.Signed() != (test.a.Kind == reader.Int) {
			t.Errorf("%s: the site's sign is forgotten", test.name)
		}
	}
}

// TestFilterKind checks that conditions know each meaning of a number.
func TestFilterKind(t *testing.T) {
	for meaning, want := range map[reader.Meaning]filter.Kind{
		reader.Plain: filter.Int, reader.Duration: filter.Duration, reader.Time: filter.Time,
		reader.Address: filter.Address, reader.NetIP: filter.NetIP, reader.Hex: filter.Hex,
	} {
		in := Input{Kind: reader.Int, Meaning: meaning}
		if got := in.FilterKind(); got != want {
			t.Errorf("meaning %v: %v, want %v", meaning, got, want)
		}
	}
	for kind, want := range map[reader.FieldKind]filter.Kind{
		reader.Uint: filter.Uint, reader.Bool: filter.Bool, reader.Float: filter.Float, reader.String: filter.String, reader.Bytes: filter.String,
	} {
		in := Input{Kind: kind}
		if got := in.FilterKind(); got != want {
			t.Errorf("kind %v: %v, want %v", kind, got, want)
		}
	}
}

// TestDropUnneeded checks that reads remain which a condition or an aggregate needs, with the
// memory on the way to them.
func TestDropUnneeded(t *testing.T) {
	memory := operand.Operand{Kind: operand.Memory, Size: 8}
	sig := func(in Input) *Signature {
		s := &Signature{Layout: record.Layout{Block: 32, Strings: []record.String{{}}, Stack: record.Stack{Most: 5}}, BlockDisp: 8, Aggregate: &Aggregate{Parts: []Part{{In: in}}}}
		s.Read(memory)
		s.Read(memory)
		s.AddIndirect(record.Indirect{Pointer: 8, Size: 8})
		s.AddIndirect(record.Indirect{Pointer: 32, Size: 8}) // in the first
		s.AddIndirect(record.Indirect{Pointer: 16, Size: 8})
		return s
	}
	for _, test := range []struct {
		name      string
		in        Input
		operands  [2]bool
		block     uint32
		indirects [3]uint32 // their sizes
	}{
		{"the task", Input{Source: InputPID}, [2]bool{}, 0, [3]uint32{}},
		{"an operand", Input{Source: InputOperand, Index: 1}, [2]bool{false, true}, 0, [3]uint32{}},
		{"a text", Input{Source: InputString, String: record.String{Slot: 0, Counted: true, LengthSlot: 1}}, [2]bool{true, true}, 0, [3]uint32{}},
		{"the block", Input{Source: InputBlock, Offset: 4}, [2]bool{}, 32, [3]uint32{}},
		{"behind a pointer", Input{Source: InputBlock, Offset: 32}, [2]bool{}, 32, [3]uint32{8}},
		{"behind two", Input{Source: InputBlock, Offset: 40}, [2]bool{}, 32, [3]uint32{8, 8}},
		{"a text behind one", Input{Source: InputString, String: record.String{Sized: true, Pointer: 48, Length: 48}}, [2]bool{}, 32, [3]uint32{0, 0, 8}},
	} {
		s := sig(test.in)
		s.DropUnneeded()
		var indirects [3]uint32
		for i := range s.Indirects {
			indirects[i] = s.Indirects[i].Size
		}
		operands := [2]bool{s.Operands[0] == memory, s.Operands[1] == memory}
		if operands != test.operands || s.Block != test.block || indirects != test.indirects || s.Strings != nil || s.Stack.Most != 0 {
			t.Errorf("%s: operands %v, block %d, indirects %v, want %v, %d, %v", test.name, operands, s.Block, indirects, test.operands, test.block, test.indirects)
		}
	}
}

// TestLimits checks that strings get shorter until a record fits, and that one that cannot says
// so.
func TestLimits(t *testing.T) {
	s := &Signature{Layout: record.Layout{Limit: 16 << 10, Strings: make([]record.String, 4)}}
	if err := s.Fits(); err == nil {
		t.Error("four strings of 16 KiB fit")
	}
	s.LimitStrings()
	if err := s.Fits(); err != nil || s.Limit != 2<<10 {
		t.Errorf("the limit is %d (%v), want 2 KiB", s.Limit, err)
	}
	if !s.LimitRecord(1000) || s.RecordSize() > 1000 || s.RecordSize() < 1000-len(s.Strings) {
		t.Errorf("the record has %d bytes, want nearly 1000", s.RecordSize())
	}
	if s.LimitRecord(10) {
		t.Error("a record has fewer bytes than its head")
	}
	none := &Signature{Layout: record.Layout{Limit: 100}}
	if none.LimitStrings(); none.Limit != 0 {
		t.Error("signatures without strings differ by their limit")
	}
}

// TestParseKey checks what is no key, and which functions make fewer groups than texts.
func TestParseKey(t *testing.T) {
	for text, names := range map[string][]string{"path": {"path"}, "sql(query)": {"query"}, "a / b": {"a", "b"}, "path[:3]": {"path"}} {
		if d := cmp.Diff(names, NamesOf(text)); d != "" {
			t.Errorf("%s: names (-want +got):\n%s", text, d)
		}
	}
	for _, text := range []string{"", "f(x)", "a +", "path[:"} {
		if _, err := ParseKey(text); !errors.Is(err, ErrAggregation) || NamesOf(text) != nil {
			t.Errorf("%q: error %v, want ErrAggregation", text, err)
		}
	}
	for by, want := range map[string]bool{"sql(q)": true, "cxx(t)": false, "q": false} {
		c := Computation{By: []string{"pid", by}}
		if c.Folds() != want {
			t.Errorf("%s: folds %v, want %v", by, c.Folds(), want)
		}
	}
}

// TestMarks checks that marks do not touch each other.
func TestMarks(t *testing.T) {
	const parts = 20
	key := make([]byte, 40+MarksSize(parts))
	for i := range parts {
		word := key[40+i/8*8:]
		binary.NativeEndian.PutUint64(word, binary.NativeEndian.Uint64(word)|uint64(i+1)<<(i%8*8))
	}
	for i := range parts {
		if got := MarkIn(key, parts, i); got != uint8(i+1) {
			t.Errorf("part %d has mark %d, want %d", i, got, i+1)
		}
	}
}
