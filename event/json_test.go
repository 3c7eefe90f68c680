package event_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/decode"
	"github.com/go-usdt/usdt/symbols"
)

func TestJSON(t *testing.T) {
	const head = `{"time":"2026-01-02T03:04:05.000000006Z","pid":7,"tid":8,"comm":"a\"b","provider":"p","name":"n",`
	for _, test := range []struct {
		args []event.Arg
		want string
	}{
		{nil, `"args":{}}`},
		{
			[]event.Arg{
				{Name: "u", Value: uint64(math.MaxUint64)},
				{Name: "i", Value: int64(math.MinInt64)},
				{Name: "yes", Value: true},
				{Name: "f", Value: 0.1},
				{Name: "s", Value: "héllo\x00\n"},
				{Name: "b", Value: []byte{0, 255}},
			},
			`"args":{"u":18446744073709551615,"i":-9223372036854775808,"yes":true,"f":0.1,"s":"héllo\u0000\n","b":"AP8="}}`,
		},
		{
			[]event.Arg{{Name: "nan", Value: math.NaN()}, {Name: "up", Value: math.Inf(1)}, {Name: "down", Value: math.Inf(-1)}},
			`"args":{"nan":"NaN","up":"+Inf","down":"-Inf"}}`,
		},
		{
			[]event.Arg{
				{Name: "lost", Err: event.ErrFault},
				{Name: "fine", Value: uint64(1)},
				{Name: "cut", Value: "ab", Err: fmt.Errorf("%w to 2 of 3 bytes", event.ErrTruncated)},
				{Name: "raw", Value: "\xff"},
			},
			`"args":{"lost":null,"fine":1,"cut":"ab","raw":"\ufffd"},` +
				`"errors":{"lost":"memory not readable","cut":"truncated to 2 of 3 bytes","raw":"invalid UTF-8 replaced by U+FFFD"}}`,
		},
		{ // values that no tracer makes, but a test may
			[]event.Arg{{Name: "nothing"}, {Name: "complex", Value: 1i}, {Name: "in", Value: event.List{{Value: int16(7)}}}},
			`"args":{"nothing":null,"complex":null,"in":[null]},"errors":{"complex":"JSON holds no complex128","in[0]":"JSON holds no int16"}}`,
		},
	} {
		ev := event.Event{
			Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), PID: 7, TID: 8, Comm: `a"b`,
			Provider: "p", Name: "n", Args: test.args,
		}
		got, err := json.Marshal(ev)
		if err != nil {
			t.Errorf("%+v: %v", test.args, err)
			continue
		}
		if want := head + test.want; string(got) != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// TestStackJSON says of stacks why they lack callers, or addresses.
func TestStackJSON(t *testing.T) {
	why := errors.New("it is cut")
	frames := [][]symbols.Frame{{{Address: 5, Func: "f"}}}
	for want, stack := range map[string]*event.Stack{
		`,"stack":[{"addr":5,"func":"f"}]}`:                         decode.SavedStack([]uint64{5}, frames, nil),
		`,"stack":[{"addr":5,"func":"f"}],"truncated":"it is cut"}`: decode.SavedStack([]uint64{5}, frames, why),
		`,"stack":null,"stack_error":"it is cut"}`:                  decode.SavedStack(nil, nil, why),
	} {
		data, err := json.Marshal(event.Event{Stack: stack})
		if err != nil || !strings.HasSuffix(string(data), want) {
			t.Errorf("got %s and %v, want …%s", data, err, want)
		}
	}
	stack := decode.SavedStack([]uint64{5}, frames, why)
	if plain := stack.AppendFrames(frames[0]); len(plain) != 2 || plain[1] != plain[0] {
		t.Errorf("got %v, want the frame twice", plain)
	}
	marked := stack.AppendMarked(nil)
	if len(marked) != 2 || marked[1].Func != "[truncated: it is cut]" {
		t.Errorf("got %v, want a mark", marked)
	}
}

func TestNestedJSON(t *testing.T) {
	ev := event.Event{Args: []event.Arg{
		{Name: "s", Value: event.Struct{{Name: "a", Value: uint64(1)}, {Name: "b", Err: event.ErrFault}}},
		{Name: "l", Value: event.List{{Value: "x"}, {Value: event.Struct{{Name: "c", Value: "\xff"}}}}, Err: event.ErrTruncated},
		{Name: "p"},
	}}
	data, err := json.Marshal(ev)
	if err != nil {
		t.Fatal(err)
	}
	want := `"args":{"s":{"a":1,"b":null},"l":["x",{"c":"\ufffd"}],"p":null},"errors":{"s.b":"memory not readable","l":"truncated","l[1].c":"invalid UTF-8 replaced by U+FFFD"}}`
	if !strings.HasSuffix(string(data), want) {
		t.Errorf("got %s\nwant %s", data, want)
	}
}

// TestPartsJSON checks that the parts of an event marshal.
func TestPartsJSON(t *testing.T) {
	s := event.Struct{{Name: "host", Value: "a"}, {Name: "tags", Value: event.List{{Value: 1.5}, {Err: event.ErrFault}}}}
	for want, v := range map[string]any{
		`{"host":"a","tags":[1.5,null]}`: s,
		`[1.5,null]`:                     s[1].Value,
		`{}`:                             event.Struct{},
		`[]`:                             event.List{},
	} {
		if got, err := json.Marshal(v); err != nil || string(got) != want {
			t.Errorf("got %s (%v), want %s", got, err, want)
		}
	}
	const before, errors = `{"errors":`, `{"tags[1]":"memory not readable"}`
	if got := string(s.AppendErrors([]byte(before))); got != before+errors {
		t.Errorf("errors are %s, want %s", got, before+errors)
	}
	if got := string(s[:1].AppendErrors([]byte(before))); got != before {
		t.Errorf("errors of what is whole are %s, want %s", got, before)
	}
}
