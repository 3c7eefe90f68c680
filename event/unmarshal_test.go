package event_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/decode"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/symbols"
)

// TestUnmarshal decodes what events of each kind are as JSON: the values have their types, the
// errors what they wrap, and the same JSON is made again.
func TestUnmarshal(t *testing.T) {
	cut := fmt.Errorf("%w to 2 of 3 bytes", event.ErrTruncated)
	function := &reader.Probe{Kind: reader.Uretprobe}
	function.Provider, function.Name = "srv", "f"
	frames := [][]symbols.Frame{{{Address: 5, Func: "in", Inlined: true}, {Address: 5, Func: "f", File: "f.go", Line: 3, Module: "/srv", Offset: 5, BuildID: "ab"}}, {{Address: 9}}}
	for name, test := range map[string]struct{ fired, want event.Event }{
		"numbers": {
			fired: event.Event{Time: time.Unix(1, 5).UTC(), PID: 7, Comm: "c\u202e", Args: event.Struct{{Name: "u", Value: uint64(math.MaxUint64)}, {Name: "i", Value: int64(math.MinInt64)}, {Name: "f", Value: 0.1}, {Name: "z", Value: math.Copysign(0, -1)}, {Name: "e", Value: 1e300}, {Name: "b", Value: true}, {Name: "b", Value: false}}},
		},
		"text": {
			fired: event.Event{Args: event.Struct{{Name: "nan", Value: math.NaN()}, {Name: "hex", Value: event.Hex{1, 255}}, {Name: "at", Value: netip.MustParseAddr("::1")}, {Name: "took", Value: time.Second}, {Name: "n", Value: uint64(3)}, {Name: "raw", Value: "\xff"}}},
			want:  event.Event{Args: event.Struct{{Name: "nan", Value: "NaN"}, {Name: "hex", Value: "01ff"}, {Name: "at", Value: "::1"}, {Name: "took", Value: int64(time.Second)}, {Name: "n", Value: int64(3)}, {Name: "raw", Value: "\ufffd"}}},
		},
		"nested": {
			fired: event.Event{Args: event.Struct{{Name: "s.x", Value: event.Struct{{Name: "a", Err: event.ErrFault}}, Err: cut}, {Name: "l", Value: event.List{{Value: "x"}, {Value: event.List{}, Err: event.ErrTruncated}}}, {Name: "p"}}},
		},
		"nil":      {fired: event.Event{Args: event.Struct{{Name: "a", Err: event.ErrNil}, {Name: "b", Err: event.ErrNil}}}, want: event.Event{Args: event.Struct{{Err: event.ErrNil}}}},
		"function": {fired: event.Event{Provider: "srv", Name: "f", Probe: function, Args: event.Struct{}}},
		"stack":    {fired: event.Event{Args: event.Struct{}, Stack: decode.SavedStack([]uint64{5, 9}, frames, cut)}},
		"no stack": {fired: event.Event{Args: event.Struct{}, Stack: decode.SavedStack(nil, nil, cut)}},
	} {
		text, err := json.Marshal(test.fired)
		if err != nil {
			t.Fatal(err)
		}
		var got event.Event
		if err := json.Unmarshal(text, &got); err != nil {
			t.Errorf("%s: %v in %s", name, err, text)
			continue
		}
		if again, err := json.Marshal(got); err != nil || string(again) != string(text) {
			t.Errorf("%s: got %s, %v\nwant %s", name, again, err, text)
		}
		if test.fired.Stack != nil {
			if len(got.Stack.PCs) != len(test.fired.Stack.PCs) || !slices.Equal(got.Stack.Frames(), test.fired.Stack.Frames()) {
				t.Errorf("%s: the stack is %+v, want %+v", name, got.Stack, test.fired.Stack)
			}
			continue
		}
		want := test.want
		if want.Args == nil {
			want = test.fired
		}
		compare(t, name, got.Args, want.Args)
		if got.Args, want.Args = nil, nil; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}

// compare compares arguments, and what their errors wrap.
func compare(t *testing.T, path string, got, want []event.Arg) {
	if len(got) != len(want) {
		t.Errorf("%s: got %d, want %d", path, len(got), len(want))
		return
	}
	for i := range want {
		path := path + "." + want[i].Name
		for _, is := range []error{event.ErrFault, event.ErrTruncated, event.ErrNil} {
			if errors.Is(got[i].Err, is) != errors.Is(want[i].Err, is) {
				t.Errorf("%s: got %v, want %v", path, got[i].Err, want[i].Err)
			}
		}
		switch v := want[i].Value.(type) {
		case event.Struct:
			g, _ := got[i].Value.(event.Struct)
			compare(t, path, g, v)
		case event.List:
			g, _ := got[i].Value.(event.List)
			compare(t, path, g, v)
		default:
			if !reflect.DeepEqual(got[i].Value, v) || got[i].Name != want[i].Name {
				t.Errorf("%s: got %s = %#v, want %#v", path, got[i].Name, got[i].Value, v)
			}
		}
	}
}

// FuzzUnmarshal checks that whatever decodes, decodes again from what it is written as.
func FuzzUnmarshal(f *testing.F) {
	for _, seed := range []string{
		`{"time":"2026-01-02T03:04:05.000000006Z","pid":7,"tid":null,"args":{"a":1e3,"b":[{"c":null}],"a":"x"},"errors":{"b[0].c":"truncated","a":"why"}}`,
		`{"kind":"uprobe","args":null,"stack":[{"addr":1,"inlined":true}],"truncated":"x"}`, `{"stack":null,"stack_error":"x"}`, `{"args":[]}`, `{"errors":{"a":"x"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var first, second event.Event
		if json.Unmarshal(text, &first) != nil {
			return
		}
		once, err := json.Marshal(first)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if err := json.Unmarshal(once, &second); err != nil {
			t.Fatalf("%s: %v", once, err)
		}
		if twice, err := json.Marshal(second); err != nil || string(twice) != string(once) {
			t.Fatalf("got %s, %v, want %s", twice, err, once)
		}
	})
}
