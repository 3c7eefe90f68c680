package page_test

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestServeMany shows a page on which the newest events take the place of the oldest.
func TestServeMany(t *testing.T) {
	needs.Root(t)
	const round, rounds, most = 100_000, 6, 1 << 20 // requests, of two events each
	p := tracee.Start(t, tracee.Self("shop", "serve_many")).Ready()
	s := serve(t, "-q", "-p", strconv.Itoa(p.PID()), "--buffer", "256M", "serve_many:*")
	b := open(t, s.address)
	for n := range rounds {
		p.Do(strconv.Itoa(round))
		// All are counted. The table lacks only what is dropped: whole blocks.
		b.await(fmt.Sprintf("document.querySelector('#total-events').dataset.value === '%d'", 2*round*(n+1)))
		b.await("document.querySelector('#shown').dataset.shown === String(trace.length) && trace.length === trace.Kept")
		kept := get[int](b, "trace.length")
		if want := min(2*round*(n+1), most); kept > want || kept < want-1<<15 {
			t.Errorf("of %d events, the page has %d, want nearly %d", 2*round*(n+1), kept, want)
		}
		awaitCheck(b, "the last event, which is in view", "document.querySelector('#grid-rows .row:last-child').innerText.includes('id=99999 ')", true)
	}
	if got := strings.ReplaceAll(b.text("#kept"), "\u202f", ""); !strings.Contains(got, fmt.Sprintf("of %d events", 2*round*rounds)) {
		t.Errorf("the page says %q, want that it has not all of %d events", got, 2*round*rounds)
	}
	// Events are in the order in which they came: none is there twice, none is missing.
	check(t, "ids that do not follow the one before", get[int](b, "(() => { let wrong = 0; for (let i = 1; i < trace.length; i++) { const a = trace.event(i - 1), b = trace.event(i), x = trace.value(a, 0), y = trace.value(b, 0); if (a.probe === b.probe || y !== (trace.Probes[b.probe].Name.endsWith('start') ? (x + 1) % 100000 : x)) wrong++; } return wrong; })()"), 0)
	s.end(syscall.SIGINT)
	if want := fmt.Sprintf("%d events, 0 lost", 2*round*rounds); !strings.Contains(s.stderr.String(), want) {
		t.Errorf("want %q in\n%s", want, &s.stderr)
	}
}
