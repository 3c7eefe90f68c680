package format

import (
	"testing"

	"github.com/go-usdt/usdt/event"
)

// TestArgsText checks the text of identifiers and of records that are nil.
func TestArgsText(t *testing.T) {
	for _, test := range []struct {
		args []event.Arg
		want string
	}{
		{[]event.Arg{{Name: "id", Value: event.Hex{0x8c, 0x17}}, {Name: "raw", Value: []byte{0x8c, 'a'}}}, `id=8c17 raw=b"\x8ca"`},
		{[]event.Arg{{Name: "id", Value: event.Hex{}}, {Name: "l", Value: event.List{{Value: event.Hex{1}}, {Value: event.Hex{2}, Err: event.ErrTruncated}}}}, `id="" l=[01 02...]`},
		{[]event.Arg{{Name: "id", Err: event.ErrNil}, {Name: "path", Err: event.ErrNil}}, "nil"},
		{[]event.Arg{{Name: "id", Err: event.ErrFault}, {Name: "path", Value: ""}}, `id=?(memory not readable) path=""`},
	} {
		if got := string(appendArgs(nil, test.args)); got != test.want {
			t.Errorf("%v: %s, want %s", test.args, got, test.want)
		}
	}
}
