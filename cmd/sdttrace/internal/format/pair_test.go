package format

import (
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
)

// TestPairRepeats has each text of a pair once, also under another name, and numbers as often as they come.
func TestPairRepeats(t *testing.T) {
	pair := attach.Pair{
		Start: event.Event{Provider: "p", Name: "a", Args: []event.Arg{{Name: "status", Value: "select 1"}, {Name: "n", Value: int64(1)}, {Name: "raw", Value: []byte("x")}}},
		End:   event.Event{Provider: "p", Name: "b", Args: []event.Arg{{Name: "statement", Value: "select 1"}, {Name: "other", Value: "select 2"}, {Name: "m", Value: int64(1)}, {Name: "none", Value: ""}}},
		Took:  time.Millisecond,
	}
	if got, want := string(appendPair(nil, &pair)), ` p:a status="select 1" n=1 raw=b"x" -> p:b other="select 2" m=1 none=""`+"\n"; !strings.HasSuffix(got, want) {
		t.Errorf("got %q, want %q at the end", got, want)
	}
}
