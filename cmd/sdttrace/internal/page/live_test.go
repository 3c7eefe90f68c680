package page

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/go-usdt/usdt/event"
)

// TestUpdate asks for updates of a page as a browser does, one that asks often and one that
// asks late.
func TestUpdate(t *testing.T) {
	p := New(text)
	p.most = 2 * blockEvents
	n := 0
	add := func(events int) {
		for range events {
			p.Add(&event.Event{Time: time.Unix(1e9, int64(n)), Provider: "p", Name: "n", Args: []event.Arg{{Name: "i", Value: uint64(n)}}})
			n++
		}
	}
	update := func(since Position) (head updateHead, tail bool) {
		t.Helper()
		u, err := p.Update(Summary{}, false, since)
		if err != nil || u == nil {
			t.Fatalf("an update since %+v: %v, %v", since, u, err)
		}
		if err := json.Unmarshal(u.head, &head); err != nil {
			t.Fatal(err)
		}
		return head, len(u.tail) > 0
	}
	var often Position
	for round, want := range []struct {
		add          int
		first        uint64 // block that is kept
		blocks, kept int    // that are new; events
	}{
		{0, 0, 0, 0},
		{7, 0, 0, 7},
		{blockEvents - 8, 0, 0, blockEvents - 1},
		{1, 0, 1, blockEvents},
		{blockEvents + 5, 1, 1, blockEvents + 5}, // and the oldest one is dropped
		{2 * blockEvents, 3, 1, blockEvents + 5}, // and one that was not asked for
	} {
		add(want.add)
		h, tail := update(often)
		if h.First != want.first || len(h.Blocks) != want.blocks || int(h.Contents.Kept) != want.kept || int(h.Contents.Total) != n || tail != (want.kept%blockEvents > 0) {
			t.Errorf("update %d: blocks from %d on, %d of them new, %d of %d events, a tail: %t; want %+v of %d", round, h.First, len(h.Blocks), h.Contents.Kept, h.Contents.Total, tail, want, n)
		}
		often = Position{max(often.Blocks, h.First) + uint64(len(h.Blocks)), h.Tag}
	}
	if u, err := p.Update(Summary{}, false, often); u != nil || err != nil {
		t.Errorf("an update without news: %v, %v", u, err)
	}
	if u, err := p.Update(Summary{Lost: 1}, false, often); u == nil || err != nil {
		t.Errorf("an update with a lost event: %v, %v", u, err)
	}
	if u, err := p.Update(Summary{}, true, often); u == nil || err != nil {
		t.Errorf("an update at the end: %v, %v", u, err)
	}
	last := time.Unix(1e9, 0).Add(time.Minute)
	losses := []Loss{LossOf(last, last.Add(time.Millisecond), 5), LossOf(last.Add(time.Second), last, 2), LossOf(last.Add(2*time.Minute), last.Add(3*time.Minute), 1)}
	u, err := p.Update(Summary{Lost: 8, Losses: losses}, false, often)
	var lossy updateHead
	if err != nil || json.Unmarshal(u.head, &lossy) != nil {
		t.Fatal(err)
	}
	end := lossy.Contents.Time.Begin + lossy.Contents.Time.Width*int64(lossy.Contents.Time.Bins)
	if got := lossy.Contents.Losses; len(got) != 3 || got[0] != losses[0] || got[2] != losses[2] || end < losses[2].To || lossy.Contents.Time.Bins > maxBins {
		t.Errorf("losses %+v, want %+v, in charts that end at %d", got, losses, end)
	}
	if h, _ := update(Position{Blocks: 1}); h.First != 3 || len(h.Blocks) != 1 {
		t.Errorf("for who has asked early only: blocks from %d on, %d of them new, want 3 and 1", h.First, len(h.Blocks))
	}
}
