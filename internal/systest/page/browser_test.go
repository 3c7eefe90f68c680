package page_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// tab is a page in the browser.
type tab struct {
	t   testing.TB
	ctx context.Context

	mu       sync.Mutex
	problems []string                      // that the page reported
	requests map[network.RequestID]request // those without an answer
}

// request is how far a page's request is.
type request struct {
	url  string
	sent bool // on a connection
}

// patience is how long the browser may take for one thing, on a busy machine.
const patience = time.Minute

// browser starts the browser of all tests, whose first tab stays empty. It takes longer to start than most
// pages to be looked at.
var browser = sync.OnceValues(func() (context.Context, error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.ExecPath("chromium"), chromedp.WindowSize(1360, 1000),
		// A click during a smooth scroll misses what it is meant for.
		chromedp.Flag("force-prefers-reduced-motion", true))
	ctx, _ := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, _ = chromedp.NewContext(ctx)
	closeBrowser = func() { chromedp.Cancel(ctx) } // it waits for the browser's end
	_, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("true"))
	return ctx, err
})

// closeBrowser ends the browser.
var closeBrowser = func() {}

// open shows a file, or what is at an address, in a tab that shares nothing with others, and waits until
// the page is drawn. The test fails if the page reports an error, or asks for anything but the
// file, or what its server has.
func open(t testing.TB, address string) *tab {
	t.Helper()
	needs.Tools(t, "chromium")
	ctx, err := browser()
	if err != nil {
		t.Fatal(err)
	}
	ctx, _ = chromedp.NewContext(ctx, chromedp.WithNewBrowserContext())
	b := &tab{t: t, ctx: ctx, requests: map[network.RequestID]request{}}
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("close the tab: %v", err)
		}
		for _, p := range b.problems {
			t.Error(p)
		}
	})
	own := address[:strings.LastIndexByte(address, '/')+1] // of a server
	if strings.HasPrefix(address, "/") {
		address = "file://" + address
		own = address
	}
	if err := chromedp.Listen(ctx, func(ev any) { b.notice(ev, own) }); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.Navigate(address))
	b.await("'loaded' in document.documentElement.dataset")
	return b
}

// notice keeps what must not happen, and which requests have no answer yet.
func (b *tab) notice(ev any, own string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	problem := ""
	switch ev := ev.(type) {
	case *runtime.EventExceptionThrown:
		problem = fmt.Sprintf("the page throws %+v", ev.ExceptionDetails)
	case *runtime.EventConsoleAPICalled:
		problem = "the page writes to its console:"
		for _, a := range ev.Args {
			problem += fmt.Sprintf(" %s %s", a.Value, a.Description)
		}
	case *network.EventRequestWillBeSent:
		b.requests[ev.RequestID] = request{ev.Request.URL, b.requests[ev.RequestID].sent}
		if !strings.HasPrefix(ev.Request.URL, own) && !strings.HasPrefix(ev.Request.URL, "blob:") && !strings.HasPrefix(ev.Request.URL, "data:") {
			problem = "the page asks for " + ev.Request.URL
		}
	case *network.EventRequestWillBeSentExtraInfo: // before the event above, or after it
		b.requests[ev.RequestID] = request{b.requests[ev.RequestID].url, true}
	case *network.EventResponseReceived:
		delete(b.requests, ev.RequestID)
	case *network.EventLoadingFailed:
		delete(b.requests, ev.RequestID)
	}
	if problem != "" {
		b.problems = append(b.problems, problem)
	}
}

func (b *tab) do(a chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, a); err != nil {
		b.t.Fatal(err)
	}
}

// get returns what an expression is in the page.
func get[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// await waits until an expression is true.
func (b *tab) await(expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool](expression, chromedp.WithPollingTimeout(0), chromedp.WithPollingInterval(20*time.Millisecond))); err != nil {
		b.t.Fatalf("wait for %s: %v; %q", expression, err, get[string](b, "[document.querySelector('#loading'), document.querySelector('#shown'), document.querySelector('#filter-error'), document.querySelector('#time-reset')].map(e => e.textContent).join('; ') + '; ' + document.querySelector('#filter').value"))
	}
}

func (b *tab) click(selector string) {
	b.t.Helper()
	b.do(chromedp.Click(chromedp.CSS(selector)))
}

// keys are names of keys that are no letters.
var keys = map[string]string{
	"Enter": kb.Enter, "Escape": kb.Escape, "Down": kb.ArrowDown, "Up": kb.ArrowUp, "Left": kb.ArrowLeft, "Right": kb.ArrowRight,
	"Home": kb.Home, "End": kb.End, "PageDown": kb.PageDown,
}

// press presses keys, one after the other, which are letters or in keys.
func (b *tab) press(names ...string) {
	b.t.Helper()
	for _, name := range names {
		key, ok := keys[name]
		if !ok {
			key = name
		}
		b.do(chromedp.KeyEvent(key))
	}
}

// text returns the text of an element.
func (b *tab) text(selector string) string {
	b.t.Helper()
	return get[string](b, fmt.Sprintf("document.querySelector(%q).innerText", selector))
}

// data returns a number that an element has in an attribute data-NAME.
func (b *tab) data(selector, name string) float64 {
	b.t.Helper()
	return get[float64](b, fmt.Sprintf("Number(document.querySelector(%q).dataset.%s)", selector, name))
}

// awaitShown waits until so many events are in the table.
func (b *tab) awaitShown(n int) {
	b.t.Helper()
	b.await(fmt.Sprintf("document.querySelector('#shown').dataset.shown === '%d'", n))
}

// check compares a number that the page shows.
func check[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: the page shows %v, want %v", what, got, want)
	}
}

// awaitCheck waits until an expression of the page has a value: what keys and clicks change,
// the page may draw later.
func awaitCheck[T comparable](b *tab, what, expression string, want T) {
	b.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		got := get[T](b, expression)
		if got == want || time.Now().After(deadline) {
			check(b.t, what, got, want)
			return
		}
		b.await("new Promise(done => requestAnimationFrame(() => done(true)))")
	}
}

// file returns the path of a page that a test writes.
func file(t testing.TB) string { return filepath.Join(t.TempDir(), "page.html") }

// write presses a key that moves the focus into a field, and writes there. The protocol
// also writes the key, as no keyboard would.
func (b *tab) write(key, text string) {
	b.t.Helper()
	b.press(key)
	b.do(chromedp.KeyEvent("a", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	if _, err := chromedp.Call(b.ctx, input.InsertText, input.InsertTextParams{Text: text}); err != nil {
		b.t.Fatal(err)
	}
}

var shiftRight = chromedp.KeyEvent(kb.ArrowRight, chromedp.KeyModifiers(chromedp.ModifierShift))

func mouseClick(x, y float64) chromedp.Action[chromedp.Void] { return chromedp.MouseClickXY(x, y) }
