package page_test

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// live says what a page that is served says of its server.
func (b *tab) awaitLive(want string) {
	b.t.Helper()
	awaitCheck(b, "the server", "document.documentElement.dataset.live", want)
}

// hide makes the page believe that nobody sees it, or somebody does.
func (b *tab) hide(hidden bool) {
	b.t.Helper()
	get[bool](b, fmt.Sprintf("Object.defineProperty(document, 'hidden', { value: %t, configurable: true }) && document.dispatchEvent(new Event('visibilitychange'))", hidden))
}

// TestServePaused has sdttrace end while one page pauses, one is in a tab that nobody sees,
// and one pauses that has everything: each shows all that came, when it is asked to.
func TestServePaused(t *testing.T) {
	shop := tracee.Self("shop", "serve_paused")
	shop.Env = append(shop.Environ(), "USDT_LOCAL=1")
	p := tracee.Start(t, shop).Ready()
	s := serve(t, "--user", "-p", strconv.Itoa(p.PID()), "--buffer", "64M", "serve_paused:*")
	pausing, hidden, complete := open(t, s.address), open(t, s.address), open(t, s.address)
	p.Do(strconv.Itoa(requests))
	for _, b := range []*tab{pausing, hidden, complete} {
		b.awaitShown(2 * requests)
	}

	// To pause and to go on, and that once more: what came meanwhile is shown.
	pausing.press("p")
	pausing.awaitLive("off")
	s.awaitAsking(pausing, true) // for the end only
	get[bool](pausing, "(window.real = fetch, fetch = async () => { throw new TypeError(); }, live.asking.abort(), true)")
	pausing.awaitLive("away")
	get[bool](pausing, "(fetch = (...a) => { window.back = a[0].endsWith('&back=1'); fetch = real; return real(...a); }, true)")
	pausing.awaitLive("off")
	check(t, "the page asks to be answered at once", get[bool](pausing, "back"), true)
	s.awaitAsking(pausing, true)
	hidden.hide(true)
	p.Do(strconv.Itoa(requests))
	complete.awaitShown(4 * requests)
	hidden.await(fmt.Sprintf("trace.length === %d", 4*requests)) // taken over, not drawn
	check(t, "events in a hidden page's table", hidden.data("#shown", "shown"), 2*requests)
	hidden.write("/", "status>=500")
	awaitCheck(hidden, "a filter in a hidden page", "Number(document.querySelector('#shown').dataset.shown)", 2*truthOf(requests).failed)
	check(t, "events, as long as the page pauses", pausing.data("#total-events", "value"), 2*requests)
	pausing.press("p")
	pausing.awaitShown(4 * requests)
	pausing.awaitLive("on")
	pausing.press("p")
	s.awaitAsking(pausing, true)
	complete.press("p")
	s.awaitAsking(complete, true)
	complete.press("p") // which has nothing to catch up on
	p.Do(strconv.Itoa(requests))
	complete.awaitShown(6 * requests)
	complete.press("p")
	s.awaitAsking(pausing, true)
	s.awaitAsking(complete, true)
	s.awaitAsking(hidden, false)

	s.end(syscall.SIGINT)
	if want := fmt.Sprintf("%d events, 0 lost", 6*requests); !strings.Contains(s.stderr.String(), want) {
		t.Errorf("want %q in\n%s", want, &s.stderr)
	}
	complete.awaitLive("ended")
	check(t, "events", complete.data("#shown", "shown"), 6*requests)
	pausing.awaitLive("rest")
	check(t, "the state", pausing.text("#live-state"), "Ended")
	if got := pausing.text("#live-note"); !strings.Contains(got, "ended while this page paused") {
		t.Errorf("the page that pauses says %q", got)
	}
	check(t, "events, as long as the page pauses", pausing.data("#shown", "shown"), 4*requests)
	pausing.click("#live-button")
	pausing.awaitLive("ended")
	pausing.awaitShown(6 * requests)
	check(t, "events", pausing.data("#total-events", "value"), 6*requests)
	check(t, "the button", get[bool](pausing, "document.querySelector('#live-button').hidden"), true)
	hidden.awaitLive("ended")
	check(t, "events that a hidden page has drawn", hidden.data("#total-events", "value"), 2*requests)
	hidden.hide(false)
	hidden.awaitShown(3 * truthOf(requests).failed)
	check(t, "events", hidden.data("#total-events", "value"), 6*requests)
}
