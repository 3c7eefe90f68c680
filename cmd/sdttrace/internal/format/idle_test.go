package format

import (
	"fmt"
	"testing"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/total"
)

// group returns a group of n events by a number.
func group(key uint64, n uint64) total.Group {
	return total.Group{By: []event.Arg{{Name: "id", Value: key}}, Count: n}
}

func TestIdleGroups(t *testing.T) {
	if testing.Short() {
		t.Skip("short: no kernel makes a difference to what is printed")
	}
	var i IdleGroups
	if got := i.Fill(nil, false); len(got) != 1 || got[0].Count != 0 {
		t.Errorf("without keys: got %+v, want one group of no events", got)
	}
	if got := i.Fill(nil, true); len(got) != 0 {
		t.Errorf("before there was any: got %+v", got)
	}
	i.Fill([]total.Group{group(2, 5), group(1, 5)}, true)
	got := i.Fill([]total.Group{group(3, 7)}, true)
	if text := fmt.Sprint(got); len(got) != 3 || got[0].Count != 7 || got[1].By[0].Value != uint64(1) || got[2].By[0].Value != uint64(2) || got[1].Count+got[2].Count != 0 {
		t.Errorf("got %s, want 3 with events, and 1 and 2 without", text)
	}
	for key := range uint64(2 * maxIdle) {
		i.Fill([]total.Group{group(10+key, 1)}, true)
	}
	got = i.Fill(nil, true)
	if len(got) < maxIdle || len(got) > maxIdle+1 {
		t.Errorf("%d idle groups are shown, want %d", len(got), maxIdle)
	}
	for _, g := range got {
		if g.By[0].Value.(uint64) < maxIdle {
			t.Errorf("%+v has been idle for longer than groups that are forgotten", g)
		}
	}
}
