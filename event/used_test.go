package event_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/reader"
)

// TestNilRecord tells the arguments of a nil record from arguments that could not be read.
func TestNilRecord(t *testing.T) {
	for want, args := range map[bool]event.Struct{true: {{Name: "a", Err: event.ErrNil}, {Name: "b", Err: event.ErrNil}}, false: {{Name: "a", Err: event.ErrFault}}} {
		if args.IsNil() != want || !errors.Is(args[0].Err, event.ErrFault) {
			t.Errorf("%+v is nil: %t", args, args.IsNil())
		}
	}
	if (event.Struct{}).IsNil() {
		t.Error("no arguments are those of a nil record")
	}
}

// TestErrorKey checks the name under which JSON has a stack's error.
func TestErrorKey(t *testing.T) {
	for want, s := range map[string]event.Stack{"stack_error": {Err: errors.New("why")}, "truncated": {PCs: []uint64{1}, Err: errors.New("why")}} {
		e := event.Event{Stack: &s}
		b, err := json.Marshal(&e)
		if got := e.Stack.ErrorKey(); err != nil || got != want || !strings.Contains(string(b), `"`+want+`":"why"`) {
			t.Errorf("key %q in %s, %v, want %q", got, b, err, want)
		}
	}
}

// TestTruncatedValue cuts text where a character begins, and bytes nowhere.
func TestTruncatedValue(t *testing.T) {
	for kind, want := range map[reader.FieldKind]string{reader.String: "ab", reader.Bytes: "ab\xc3"} {
		if v := event.TruncatedValue(kind, reader.Plain, []byte("ab\xc3")); string(v.Bytes()) != want || !errors.Is(v.Err, event.ErrTruncated) {
			t.Errorf("kind %d: got %q, %v, want %q", kind, v.Bytes(), v.Err, want)
		}
	}
	if v := event.TruncatedValue(reader.Bytes, reader.Hex, []byte{1, 2}); v.Meaning != reader.Hex {
		t.Errorf("meaning %d", v.Meaning)
	} else if got, err := v.Any(); !errors.Is(err, event.ErrTruncated) || !isHex(got) {
		t.Errorf("got %#v, %v, want an identifier", got, err)
	}
}

func isHex(v any) bool { _, ok := v.(event.Hex); return ok }

// TestViewArgument reads arguments of a view by their paths.
func TestViewArgument(t *testing.T) {
	s := &shape.Shape{Layout: &record.Layout{Slots: 1}, Fields: []shape.Field{{Name: "id", Source: shape.FromRecord, Kind: reader.Uint, Size: 8, Offset: record.Slot(0)}}}
	v, err := decoderOf(s).View(s.Layout.Capture(nil, &record.Header{}, []uint64{7}, nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	if a, ok := v.Argument("id"); !ok || a.Name != "id" || a.Value != uint64(7) {
		t.Errorf("got %+v, %t", a, ok)
	}
	if a, ok := v.Argument("id.none"); ok {
		t.Errorf("there is %+v", a)
	}
}
