package page_test

import (
	"fmt"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// served is a running sdttrace serve.
type served struct {
	t              testing.TB
	cmd            *exec.Cmd
	stdout, stderr tracee.Output
	address        string
}

// serve starts sdttrace serve and waits until it has printed the page's address.
func serve(t *testing.T, flags ...string) *served {
	t.Helper()
	s := &served{t: t, cmd: exec.Command(build(t), append([]string{"serve"}, flags...)...)}
	s.cmd.Stdout, s.cmd.Stderr = &s.stdout, &s.stderr
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if s.cmd.ProcessState == nil {
			s.cmd.Process.Kill()
			s.cmd.Wait()
		}
	})
	s.stdout.Await(t, "\n")
	var ok bool
	if s.address, ok = strings.CutPrefix(strings.TrimSpace(s.stdout.String()), "sdttrace: "); !ok {
		t.Fatalf("sdttrace serve prints %q, want an address", &s.stdout)
	}
	return s
}

// end interrupts sdttrace, and waits until it has ended.
func (s *served) end(signal syscall.Signal) {
	s.t.Helper()
	s.cmd.Process.Signal(signal)
	if err := s.cmd.Wait(); err != nil {
		s.t.Fatalf("%v\n%s", err, &s.stderr)
	}
}

// awaitAsking waits until a page's request waits at sdttrace, for the next update or, if the
// page pauses, for the end. However slow the browser is, the page gets the end, then.
func (s *served) awaitAsking(b *tab, pausing bool) {
	s.t.Helper()
	asking := func() (all string, ok bool) {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, r := range b.requests {
			if r.sent && strings.Contains(r.url, "/update?") && strings.Contains(r.url, "&until=end") == pausing {
				ok = true
			}
		}
		return fmt.Sprintf("%+v", b.requests), ok
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		all, ok := asking()
		if ok {
			break
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("no request of the page waits (pausing: %t); all are %s", pausing, all)
		}
	}
	// sdttrace takes connections in the order in which they come: earlier ones are also taken.
	r, err := http.NewRequestWithContext(s.t.Context(), "GET", s.address, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		s.t.Fatal(err)
	}
	answer.Body.Close()
}

// TestServe watches a page while events come by each way, and compares it with what was
// fired until then.
func TestServe(t *testing.T) {
	t.Run("kernel", func(t *testing.T) {
		needs.Root(t)
		checkServe(t, tracee.Self("shop", "serve_kernel"), "serve_kernel")
	})
	t.Run("shared memory", func(t *testing.T) {
		shop := tracee.Self("shop", "serve_local")
		shop.Env = append(shop.Environ(), "USDT_LOCAL=1")
		checkServe(t, shop, "serve_local", "--user")
	})
}

func checkServe(t *testing.T, shop *exec.Cmd, provider string, flags ...string) {
	p := tracee.Start(t, shop).Ready()
	start, done := provider+":request_start", provider+":request_done"
	s := serve(t, append(flags, "-p", strconv.Itoa(p.PID()), "--stack", "--buffer", "64M", "--span", start+","+done+":id", provider+":*")...)
	b := open(t, s.address)
	awaitCheck(b, "live", "document.documentElement.dataset.live", "on")
	check(t, "events", b.data("#total-events", "value"), 0)
	p.Do(strconv.Itoa(requests))
	b.awaitShown(2 * requests)
	checkCounts(b, provider)
	checkNumbers(b, provider)
	checkFilter(b)
	checkFlame(b)
	check(t, "pairs", b.data("#latency-figures dd", "value"), requests)
	check(t, "not a tree", get[bool](b, "document.querySelector('#probes').hidden"), true)

	// More come while a filter is set, and while the page pauses.
	failed := truthOf(requests).failed
	b.write("/", "status>=500")
	b.awaitShown(failed)
	p.Do(strconv.Itoa(requests))
	b.awaitShown(2 * failed)
	b.press("Escape")
	b.awaitShown(4 * requests)
	check(t, "events", b.data("#total-events", "value"), 4*requests)
	check(t, done, b.data(fmt.Sprintf("#legend [data-probe='%s']", done), "count"), 2*requests)
	check(t, "values of took", b.data(".card[data-arg=took]", "count"), 2*requests)
	awaitCheck(b, "pairs", "Number(document.querySelector('#latency-figures dd').dataset.value)", 2*requests)
	awaitCheck(b, "stacks", "flame.totals[0]", 4*requests)
	b.press("5", "p")
	awaitCheck(b, "paused", "document.documentElement.dataset.live", "off")
	p.Do(strconv.Itoa(requests))
	check(t, "events, as long as the page pauses", b.data("#total-events", "value"), 4*requests)
	b.click("#live-button")
	b.awaitShown(6 * requests)

	awaitCheck(b, "downloads", "document.querySelectorAll('#downloads button:enabled').length", 4)

	// Events just before the end are shown after it.
	s.awaitAsking(b, false)
	p.Do(strconv.Itoa(requests))
	s.end(syscall.SIGINT)
	awaitCheck(b, "ended", "document.documentElement.dataset.live", "ended")
	check(t, "downloads of what has ended", get[bool](b, "document.querySelector('#downloads').hidden"), true)
	b.awaitShown(8 * requests)
	check(t, "events", b.data("#total-events", "value"), 8*requests)
	check(t, "lost", b.data("#total-lost", "value"), 0)
	if strings.Contains(s.stderr.String(), "rror") || !strings.Contains(s.stderr.String(), " 0 lost") {
		t.Errorf("sdttrace says\n%s", &s.stderr)
	}
	b.write("/", "status>=500")
	b.awaitShown(4 * failed)
}

// TestServeRefuses asks for a page as others than its reader would.
func TestServeRefuses(t *testing.T) {
	shop := tracee.Self("shop", "serve_refuses")
	p := tracee.Start(t, shop).Ready()
	s := serve(t, "-p", strconv.Itoa(p.PID()))
	page, _, _ := strings.Cut(s.address, "?")
	for _, test := range []struct {
		what, method, address, host, origin string
		want                                int
	}{
		{"the page", "GET", s.address, "", "", 200},
		{"the page without the token", "GET", page, "", "", 403},
		{"the page by a name that leads here", "GET", s.address, "attacker.example", "", 403},
		{"the page for another page", "GET", s.address, "", "http://attacker.example", 403},
		{"events without the token", "GET", page + "update", "", "", 403},
		{"to attach, without --allow-attach", "POST", s.address, "", "", 405},
	} {
		r, err := http.NewRequestWithContext(t.Context(), test.method, test.address, nil)
		if err != nil {
			t.Fatal(err)
		}
		if test.host != "" {
			r.Host = test.host
		}
		if test.origin != "" {
			r.Header.Set("Origin", test.origin)
		}
		answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != test.want {
			t.Errorf("%s: %s, want %d", test.what, answer.Status, test.want)
		}
	}
	s.end(syscall.SIGTERM)
}

// TestServeTree looks at the tree of a shop's probes, attaches to one by a click and
// detaches, and compares that with sdttrace list.
func TestServeTree(t *testing.T) {
	needs.Root(t)
	p := tracee.Start(t, tracee.Self("shop", "serve_tree")).Ready()
	pid := strconv.Itoa(p.PID())
	sdttrace := build(t)
	watched := func(s *served) int {
		return strings.Count(needs.Run(t, sdttrace, "list", "-p", pid), fmt.Sprintf("sdttrace/%d", s.cmd.Process.Pid))
	}
	const start, done = ".probe[data-probe='serve_tree:request_start']", ".probe[data-probe='serve_tree:request_done']"
	attached := func(b *tab, want string) {
		t.Helper()
		awaitCheck(b, "attached", fmt.Sprintf("document.querySelector(%q).dataset.attached", done), want)
	}

	readOnly := serve(t, "-p", pid)
	b := open(t, readOnly.address)
	b.await(fmt.Sprintf("document.querySelector(%q) !== null", done))
	check(t, "probes", b.data("#tree-sub", "found"), 2)
	check(t, "processes", b.data(done, "processes"), 1)
	check(t, "watched", b.data(done, "watched"), 0)
	check(t, "buttons", get[int](b, "document.querySelectorAll('#tree button').length"), 0)
	check(t, "no events: hidden", get[bool](b, "document.querySelector('#events').hidden"), true)

	s := serve(t, "-p", pid, "--allow-attach", "--buffer", "64M")
	a := open(t, s.address)
	a.await(fmt.Sprintf("document.querySelector(%q) !== null", done))
	a.click(done + " > button")
	attached(a, "true")
	check(t, "the focus stays", get[bool](a, fmt.Sprintf("document.activeElement === document.querySelector(%q)", done+" > button")), true)
	check(t, "watched sites", watched(s), 1)
	by := fmt.Sprintf("document.querySelector(%q).dataset.by", done+" tr[data-pid='"+pid+"']")
	for _, page := range []*tab{a, b} { // a page that only looks also sees that
		awaitCheck(page, "watched by", by, fmt.Sprintf("sdttrace/%d", s.cmd.Process.Pid))
		awaitCheck(page, "watched by others", fmt.Sprintf("document.querySelector(%q).dataset.watched", start), "0")
	}
	p.Do(strconv.Itoa(requests))
	a.awaitShown(requests)
	check(t, "events", a.data("#total-events", "value"), requests)
	checkNumbers(a, "serve_tree")
	a.click(start + " > button")
	awaitCheck(a, "the other one is also attached", fmt.Sprintf("document.querySelector(%q).dataset.attached", start), "true")
	p.Do(strconv.Itoa(requests))
	a.awaitShown(3 * requests)
	a.click(done + " > button")
	attached(a, "false")
	check(t, "watched sites", watched(s), 1)
	p.Do(strconv.Itoa(requests))
	a.awaitShown(4 * requests)
	check(t, "of the one that is detached", a.data("#legend [data-probe='serve_tree:request_done']", "count"), 2*requests)
	a.write("0", "request_start")
	awaitCheck(a, "found", "document.querySelector('#tree-sub').dataset.found", "1")

	// Behind the end, no button can be pressed, also not one that was not found; the focus stays.
	off := func(probe string) string {
		return fmt.Sprintf("document.querySelector(%q).getAttribute('aria-disabled')", probe+" > button")
	}
	awaitCheck(a, "the button cannot be pressed", off(start), "false")
	a.do(chromedp.Focus(chromedp.CSS(start + " > button")))
	s.awaitAsking(a, false)
	s.end(syscall.SIGINT)
	a.awaitLive("ended")
	awaitCheck(a, "the button cannot be pressed", off(start), "true")
	check(t, "the focus stays", get[bool](a, fmt.Sprintf("document.activeElement === document.querySelector(%q)", start+" > button")), true)
	a.write("0", "request")
	awaitCheck(a, "found", "document.querySelector('#tree-sub').dataset.found", "2")
	check(t, "the button cannot be pressed", get[string](a, off(done)), "true")
	check(t, "a click asks for something", get[bool](a, fmt.Sprintf("(() => { let asked = false; ask = async () => { asked = true; }; document.querySelector(%q).click(); return asked; })()", done+" > button")), false)
	check(t, "watchers behind the end", watched(s), 0)
	if want := fmt.Sprintf("%d events, 0 lost", 4*requests); !strings.Contains(s.stderr.String(), want) {
		t.Errorf("want %q in\n%s", want, &s.stderr)
	}
	awaitCheck(b, "watched", fmt.Sprintf("document.querySelector(%q).dataset.watched", start), "0")
	readOnly.end(syscall.SIGTERM)
}
