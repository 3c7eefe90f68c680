package attach_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
)

// TestPairJSON decodes a pair from its JSON.
func TestPairJSON(t *testing.T) {
	half := func(s int64) event.Event {
		return event.Event{Time: time.Unix(s, 0).UTC(), PID: 3, Args: event.Struct{{Name: "id", Value: s}}}
	}
	want := attach.Pair{Start: half(1), End: half(2), Took: time.Second}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got attach.Pair
	if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if err := json.Unmarshal([]byte(`{"start":[]}`), &got); err == nil {
		t.Error("a start that is no event")
	}
}
