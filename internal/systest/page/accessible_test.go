package page_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// unnamed lists what can be pressed, written to or read and has no name, by its id or class.
const unnamed = `[...document.querySelectorAll('button, input, select, canvas, [role=grid]')].filter(e => e.offsetParent && !(e.getAttribute('aria-label') || e.getAttribute('aria-labelledby') || e.textContent.trim())).map(e => e.id || e.className).join(' ')`

// unreachable lists what scrolls and cannot be reached by keys.
const unreachable = `[...document.querySelectorAll('main *')].filter(e => /auto|scroll/.test(getComputedStyle(e).overflow) && (e.scrollHeight > e.clientHeight + 1 || e.scrollWidth > e.clientWidth + 1) && e.tabIndex < 0 && ![...e.querySelectorAll('button, a, input')].length).map(e => e.id || e.className).join(' ')`

// misplaced lists rows and cells of the table that are not where assistive technology looks
// for them.
const misplaced = `[...document.querySelectorAll('#grid [role]')].filter(e => !e.matches('[role=grid] > [role=row], [role=grid] > [role=rowgroup], [role=rowgroup] > [role=row], [role=row] > [role=gridcell], [role=row] > [role=columnheader]')).length`

// focused says what has the focus, and whether that can be seen.
const focused = `(e => e === document.body ? '' : (e.id || e.dataset.probe || e.dataset.column || e.className || e.textContent) + (getComputedStyle(e).outlineStyle === 'none' ? ' unseen' : ''))(document.activeElement)`

// TestAccessible uses a page by keys alone, and checks what people need who do not see it as
// others do.
func TestAccessible(t *testing.T) {
	shop := tracee.Self("shop", "page_keys")
	shop.Env = append(shop.Environ(), "USDT_LOCAL=1")
	b := open(t, trace(t, shop, requests, "--stack", "--user", "--buffer", "64M", "--span", "page_keys:request_start,page_keys:request_done:id", "page_keys:*"))
	tab := chromedp.KeyEvent(kb.Tab)

	// Tab leads through everything, once, and to nothing that is not seen.
	var order []string
	seen, all := map[string]bool{}, false
	for range 200 {
		b.do(tab)
		at := get[string](b, focused)
		if at == "" || at == "skip" && len(order) > 0 {
			all = true
			break
		}
		if n := get[int](b, "document.activeElement.visits = (document.activeElement.visits ?? 0) + 1"); n > 1 {
			t.Errorf("Tab leads to %q %d times", at, n)
		}
		if strings.HasSuffix(at, " unseen") {
			t.Errorf("the focus at %q cannot be seen", at)
		}
		if !seen[at] {
			order = append(order, at)
		}
		seen[at] = true
	}
	if !all {
		t.Errorf("Tab does not lead out of the page; all is %q", order)
	}
	got := " " + strings.Join(order, " ") + " "
	for _, want := range []string{"skip", "Rate", "Events", "help-button", "span", "link", "heat-canvas", "page_keys:request_start", "rate-canvas", "flame-probe", "flame-search", "flame-canvas", "filter", "grid", "Time", "Probe"} {
		before, after, ok := strings.Cut(got, " "+want+" ")
		if !ok {
			t.Errorf("Tab does not lead to %q behind %q; all is %q", want, before, order)
			continue
		}
		got = " " + after
	}

	// The other things that a mouse can do.
	b.press("2")
	awaitCheck(b, "the focus behind 2", focused, "rate-canvas")
	b.do(chromedp.KeyEvent(kb.Tab, chromedp.KeyModifiers(chromedp.ModifierShift)))
	only := get[string](b, focused)
	b.do(chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(chromedp.ModifierShift)))
	b.awaitShown(requests)
	awaitCheck(b, "the probes that are shown", "visibleProbes().map(p => trace.Probes[p].Name).join(' ')", only)
	b.do(chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(chromedp.ModifierShift)))
	b.awaitShown(2 * requests)
	b.press("4")
	awaitCheck(b, "the focus behind 4", focused, "numbers")
	b.press("5", "Down", "Enter")
	awaitCheck(b, "the line that is read", "document.getElementById(document.querySelector('#grid').getAttribute('aria-activedescendant')).getAttribute('aria-rowindex')", "3")
	b.do(chromedp.Focus(chromedp.CSS("#detail button")))
	b.press("Escape")
	awaitCheck(b, "the focus behind the details", "document.querySelector('#detail').hidden && document.activeElement.id", "grid")

	for _, width := range []int64{1280, 420} {
		b.do(chromedp.EmulateViewport(width, 900))
		b.await("document.documentElement.clientWidth <= innerWidth")
		awaitCheck(b, "how far the page reaches beyond the window", "document.documentElement.scrollWidth - document.documentElement.clientWidth", 0)
		awaitCheck(b, "what has no name", unnamed, "")
		awaitCheck(b, "what scrolls and no key reaches", unreachable, "")
		awaitCheck(b, "what is misplaced in the table", misplaced, 0)
	}
	awaitCheck(b, "how much of the slowest pairs is clipped", "(e => Math.max(e.scrollWidth - e.clientWidth, e.scrollHeight - e.clientHeight))(document.querySelector('#slowest').parentElement)", 0)
	// On a narrow screen, the last column can be scrolled to.
	awaitCheck(b, "the table has the last column", "(g => { g.scrollLeft = 1e6; const cell = g.querySelector('.row > :last-child').getBoundingClientRect(); return cell.width > 100 && cell.right <= g.getBoundingClientRect().right; })(document.querySelector('#grid'))", true)
	b.write("/", `"nothing has this"`)
	b.awaitShown(0)
	awaitCheck(b, "what is misplaced in an empty table", misplaced, 0)
}
