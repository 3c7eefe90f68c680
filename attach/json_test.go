package attach_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
)

func TestJSON(t *testing.T) {
	const head = `{"time":"2026-01-02T03:04:05.000000006Z","pid":7,"tid":8,"comm":"a\"b","provider":"p","name":"n",`
	for _, test := range []struct {
		args []attach.Arg
		want string
	}{
		{nil, `"args":{}}`},
		{
			[]attach.Arg{
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
			[]attach.Arg{{Name: "nan", Value: math.NaN()}, {Name: "up", Value: math.Inf(1)}, {Name: "down", Value: math.Inf(-1)}},
			`"args":{"nan":"NaN","up":"+Inf","down":"-Inf"}}`,
		},
		{
			[]attach.Arg{
				{Name: "lost", Err: attach.ErrFault},
				{Name: "fine", Value: uint64(1)},
				{Name: "cut", Value: "ab", Err: fmt.Errorf("%w to 2 of 3 bytes", attach.ErrTruncated)},
				{Name: "raw", Value: "\xff"},
			},
			`"args":{"lost":null,"fine":1,"cut":"ab","raw":"\ufffd"},` +
				`"errors":{"lost":"memory not readable","cut":"truncated to 2 of 3 bytes","raw":"invalid UTF-8 replaced by U+FFFD"}}`,
		},
	} {
		ev := attach.Event{
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
