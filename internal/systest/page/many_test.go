package page_test

import (
	"os"
	"strings"
	"testing"
)

// TestMany shows more events than a page keeps.
func TestMany(t *testing.T) {
	const requests, most = 560_000, 1 << 20
	page, _ := record(t, "page_many", requests, "128M")
	info, err := os.Stat(page)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 64<<20 {
		t.Errorf("the page has %d bytes, want at most 64 MiB", info.Size())
	}
	b := open(t, page)
	t.Logf("%d events: %d bytes, drawn after %v ms", 2*requests, info.Size(), b.data("html", "loaded"))
	check(t, "events", b.data("#total-events", "value"), 2*requests)
	check(t, "of a probe", b.data("#legend [data-probe='page_many:request_done']", "count"), requests)
	kept := get[int](b, "trace.length")
	if kept > most || kept < most-1<<15 {
		t.Errorf("the page has %d events, want nearly %d", kept, most)
	}
	shown := int(b.data("#shown", "shown"))
	check(t, "events in the table", shown, kept)
	if got := strings.ReplaceAll(b.text("#kept"), "\u202f", ""); !strings.Contains(got, "of 1120000 events") {
		t.Errorf("the page says %q, want that it has not all of 1120000 events", got)
	}
	// The table scrolls from the first to the last one.
	b.press("5")
	b.press("Home")
	first := get[int](b, "trace.value(trace.event(rows[grid.picked]), 0)")
	check(t, "the first id", first, requests-kept/2)
	b.press("End")
	if got := b.text("#grid-rows .row.picked"); !strings.Contains(got, "id=559999 ") {
		t.Errorf("the last event is %q, want id 559999", got)
	}
	check(t, "scrolled to the end", get[bool](b, "(v => v.scrollTop + v.clientHeight >= v.scrollHeight - 2)(document.querySelector('#grid'))"), true)
	lines := get[int](b, "document.querySelectorAll('#grid-rows .row').length")
	if lines > 100 {
		t.Errorf("%d lines are in the document", lines)
	}
	b.write("/", "id >= 559000 && status >= 500")
	want := 0
	for id := 559_000; id < requests; id++ {
		if statusOf(id) >= 500 {
			want++
		}
	}
	b.awaitShown(want)
}
