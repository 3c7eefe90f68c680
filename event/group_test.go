package event_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/decode"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/reader"
)

// TestGroup checks what events, views and JSON have of the control group whose id a record has, and
// that they have nothing if nobody asks.
func TestGroup(t *testing.T) {
	s := &shape.Shape{Layout: &record.Layout{Slots: 2}, Group: 2}
	rec := make([]byte, s.Layout.FixedSize())
	rec[record.Slot(1)] = 7
	for _, asked := range []bool{false, true} {
		d := decode.NewDecoder(func(uint32) (*shape.Shape, *reader.Probe) { return s, &reader.Probe{} }, func(uint64) time.Time { return time.Unix(1, 0).UTC() })
		want := [3]string{}
		if asked {
			want = [3]string{"/a\"b", "web", ""}
			d.KnowGroups(func(id uint64) (cgroup, container, pod string) {
				if id != 7 {
					t.Errorf("group %d is asked for, want 7", id)
				}
				return want[0], want[1], want[2]
			})
		}
		ev, err := d.Decode(rec)
		if got := [3]string{ev.Cgroup, ev.Container, ev.Pod}; err != nil || got != want {
			t.Errorf("asked: %v: event has %q, error %v, want %q", asked, got, err, want)
		}
		v, err := d.View(rec)
		if err != nil {
			t.Fatal(err)
		}
		if cgroup, container, pod := v.Group(); [3]string{cgroup, container, pod} != want {
			t.Errorf("asked: %v: view has %q, %q, %q, want %q", asked, cgroup, container, pod, want)
		}
		text, err := json.Marshal(&ev)
		if err != nil {
			t.Fatal(err)
		}
		var keys map[string]any
		if err := json.Unmarshal(text, &keys); err != nil {
			t.Fatal(err)
		}
		if _, has := keys["cgroup"]; has != asked {
			t.Errorf("asked: %v: JSON is %s", asked, text)
		}
		var again event.Event
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatal(err)
		}
		if got := [3]string{again.Cgroup, again.Container, again.Pod}; got != want {
			t.Errorf("asked: %v: from %s come %q, want %q", asked, text, got, want)
		}
	}
}
