package serve

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/page"
	"github.com/go-usdt/usdt/event"
)

// serving starts a server of a page with one event.
func serving(t *testing.T, o Options) (*Server, *page.Page) {
	t.Helper()
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.Page = page.New(func(dst []byte, a *event.Arg) []byte { return fmt.Append(dst, a.Value) })
	o.Summary = func() page.Summary { return page.Summary{Command: "sdttrace serve"} }
	o.Page.Add(&event.Event{Time: time.Unix(1e9, 0), Provider: "p", Name: "n"})
	s := New(l, o)
	s.Start()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, o.Page
}

// hurry has a server whose pages do not ask again end soon.
func hurry(s *Server) { s.farewell, s.lastAnswers = 100*time.Millisecond, 100*time.Millisecond }

// request sends a request as the page does, except where change alters it.
func request(t *testing.T, s *Server, method, path string, change func(*http.Request)) (status int, body string, header http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.hosts[0]+path, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(tokenHeader, s.token)
	r.Header.Set("Content-Type", "application/json")
	if change != nil {
		change(r)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	answer, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(b), answer.Header
}

// TestGuard sends what the page sends, and what others may send.
func TestGuard(t *testing.T) {
	readOnly, _ := serving(t, Options{Tree: func(context.Context) (*Tree, error) { return &Tree{}, nil }})
	open, _ := serving(t, Options{
		Tree:   func(context.Context) (*Tree, error) { return &Tree{}, nil },
		Change: func(context.Context, Change) error { return RequestError("no such probe") },
	})
	hurry(readOnly)
	without := func(r *http.Request) { r.Header.Del(tokenHeader) }
	set := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	port := readOnly.hosts[0][strings.LastIndexByte(readOnly.hosts[0], ':'):]
	for _, test := range []struct {
		what, method, path string
		change             func(*http.Request)
		s                  *Server
		want               int
	}{
		{"the page", "GET", "/?token=" + readOnly.token, without, readOnly, 200},
		{"the page by another name of this machine", "GET", "/?token=" + readOnly.token, host("localhost" + port), readOnly, 200},
		{"the page, token in the header only", "GET", "/", nil, readOnly, 403},
		{"the page without a token", "GET", "/", without, readOnly, 403},
		{"the page with another token", "GET", "/?token=" + open.token, without, readOnly, 403},
		{"the page with a part of the token", "GET", "/?token=" + readOnly.token[:31], without, readOnly, 403},
		{"another host", "GET", "/?token=" + readOnly.token, host("attacker.example" + port), readOnly, 403},
		{"the host without its port", "GET", "/?token=" + readOnly.token, host("127.0.0.1"), readOnly, 403},
		{"events", "GET", "/update", nil, readOnly, 200},
		{"events for the page's origin", "GET", "/update", set("Origin", "http://127.0.0.1"+port), readOnly, 200},
		{"events without a token", "GET", "/update", without, readOnly, 403},
		{"events with the token in the address", "GET", "/update?token=" + readOnly.token, without, readOnly, 403},
		{"events for another origin", "GET", "/update", set("Origin", "http://attacker.example"), readOnly, 403},
		{"events for another port of this machine", "GET", "/update", set("Origin", "http://127.0.0.1:1"), readOnly, 403},
		{"events for a page without an origin", "GET", "/update", set("Origin", "null"), readOnly, 403},
		{"events for another host", "GET", "/update", host("attacker.example" + port), readOnly, 403},
		{"the tree", "GET", "/probes", nil, readOnly, 200},
		{"the tree without a token", "GET", "/probes", without, readOnly, 403},
		{"something else", "GET", "/etc/passwd", nil, readOnly, 404},
		{"a change", "POST", "/probes", nil, readOnly, 405},
		{"a change without a token", "POST", "/probes", without, readOnly, 403},
		{"a removal", "DELETE", "/probes", nil, readOnly, 405},
		{"a removal", "DELETE", "/probes", nil, open, 405},
		{"a change that is allowed", "POST", "/probes", nil, open, 400}, // by Change
		{"a change without a token", "POST", "/probes", without, open, 403},
		{"a change for another origin", "POST", "/probes", set("Origin", "http://attacker.example"), open, 403},
		{"a change as a form", "POST", "/probes", set("Content-Type", "text/plain"), open, 415},
		{"a change elsewhere", "POST", "/update", nil, open, 405},
	} {
		status, body, header := request(t, test.s, test.method, test.path, test.change)
		if status != test.want {
			t.Errorf("%s: %d %s, want %d", test.what, status, body, test.want)
		}
		for name, want := range map[string]string{"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"} {
			if got := header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", test.what, name, got, want)
			}
		}
		policy := header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") || strings.Contains(policy, "http") {
			t.Errorf("%s: the policy is %q", test.what, policy)
		}
		if header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: other origins may read the answer", test.what)
		}
		if strings.Contains(body, readOnly.token) {
			t.Errorf("%s: the answer has the token", test.what)
		}
	}
}

// TestListen refuses addresses that other machines reach.
func TestListen(t *testing.T) {
	for address, want := range map[string]string{
		"0.0.0.0:0":     `"0.0.0.0" is not a loopback address`,
		":8080":         `"" is not a loopback address`,
		"[::]:0":        `"::" is not a loopback address`,
		"example.com:1": `"example.com" is not a loopback address`,
		"127.0.0.1":     `"127.0.0.1" is not an address with a port`,
	} {
		_, err := Listen(address)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", address, err, want)
		}
	}
	l, err := Listen("localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := Listen(l.Addr().String()); err == nil || !strings.HasSuffix(err.Error(), "is in use; port 0 is one that is free") {
		t.Errorf("a port that is in use: %v", err)
	}
}

// headOf decodes the head of an update.
func headOf(t *testing.T, body string) (head struct {
	Tag      string
	Ended    bool
	Contents struct{ Total int }
}) {
	t.Helper()
	size := binary.LittleEndian.Uint32([]byte(body))
	if err := json.NewDecoder(bytes.NewReader([]byte(body)[4 : 4+size])).Decode(&head); err != nil {
		t.Fatal(err)
	}
	return head
}

// await waits until the server has noted something.
func await(t *testing.T, s *Server, what string, noted func() bool) {
	t.Helper()
	locked := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return noted()
	}
	for deadline := time.Now().Add(time.Minute); !locked(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the server has not seen %s", what)
		}
	}
}

// wait has a server wait for its pages, however slow the machine is.
func wait(s *Server) {
	s.farewell, s.lastAnswers, s.absent, s.away = time.Minute, time.Minute, time.Hour, time.Hour
}

// TestUpdate waits for events, and for the end.
func TestUpdate(t *testing.T) {
	s, p := serving(t, Options{})
	wait(s)
	_, body, _ := request(t, s, "GET", "/update?tab=a", nil)
	first := headOf(t, body)
	if first.Contents.Total != 1 || first.Ended {
		t.Fatalf("the first update is %+v, want one event", first)
	}
	answers := make(chan string, 1)
	ask := func(tag string) {
		go func() {
			body := ""
			defer func() { answers <- body }() // also if the request fails
			_, body, _ = request(t, s, "GET", "/update?tab=a&tag="+tag, nil)
		}()
	}
	ask(first.Tag)
	p.Add(&event.Event{Time: time.Unix(1e9, 1), Provider: "p", Name: "n"})
	second := headOf(t, <-answers)
	if second.Contents.Total != 2 || second.Ended {
		t.Fatalf("the next update is %+v, want two events", second)
	}
	// A page that had no answer learns at once that the server lives.
	for _, until := range []string{"", "&until=end"} {
		begin := time.Now()
		status, _, _ := request(t, s, "GET", "/update?tab=a&back=1&tag="+second.Tag+until, nil)
		if took := time.Since(begin); status != http.StatusNoContent || took >= patience {
			t.Errorf("the first answer behind an error%s is %d after %v, want %d before %v", until, status, took, http.StatusNoContent, patience)
		}
	}
	// A page that pauses asks for the end only; when it goes on, it gives that up.
	pausing, giveUp := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(pausing, "GET", "http://"+s.hosts[0]+"/update?tab=a&until=end&tag="+second.Tag, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(tokenHeader, s.token)
	gaveUp := make(chan error, 1)
	go func() {
		answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
		if err == nil {
			answer.Body.Close()
			if answer.StatusCode != http.StatusNoContent { // that it still waits
				err = fmt.Errorf("a page that pauses is answered before the end: %s", answer.Status)
			}
		}
		gaveUp <- err
	}()
	awaitRequest := func(n uint64) {
		t.Helper()
		await(t, s, fmt.Sprintf("request %d", n), func() bool { return s.requests >= n })
	}
	awaitRequest(5)
	p.Add(&event.Event{Time: time.Unix(1e9, 2), Provider: "p", Name: "n"})
	ask(second.Tag)
	third := headOf(t, <-answers)
	if third.Contents.Total != 3 || third.Ended {
		t.Fatalf("the update of a page that goes on is %+v, want three events", third)
	}
	giveUp()
	if err := <-gaveUp; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	ask(third.Tag) // nothing comes, but the end
	awaitRequest(7)
	ask(third.Tag + "&until=end")
	awaitRequest(8)
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	for range 2 {
		last := headOf(t, <-answers)
		if last.Contents.Total != 3 || !last.Ended {
			t.Errorf("the last update is %+v, want the end", last)
		}
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// TestAnew has a page give up its request to send another, and sdttrace end between the two:
// the page gets the end.
func TestAnew(t *testing.T) {
	s, _ := serving(t, Options{})
	wait(s)
	_, body, _ := request(t, s, "GET", "/update?tab=a", nil)
	first := headOf(t, body)
	asking, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	r, err := http.NewRequestWithContext(asking, "GET", "http://"+s.hosts[0]+"/update?tab=a&until=end&tag="+first.Tag, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(tokenHeader, s.token)
	gaveUp := make(chan error, 1)
	go func() {
		answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
		if err == nil {
			answer.Body.Close()
		}
		gaveUp <- err
	}()
	await(t, s, "the request", func() bool { return s.requests == 2 })
	giveUp()
	if err := <-gaveUp; !errors.Is(err, context.Canceled) {
		t.Fatalf("the request that is given up: %v, want %v", err, context.Canceled)
	}
	await(t, s, "that the request is given up", func() bool { return !s.tabs["a"].waiting })
	if s.allComplete() {
		t.Fatal("the server does not wait for the page to ask anew")
	}
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	<-s.ended
	_, body, _ = request(t, s, "GET", "/update?tab=a&tag="+first.Tag, nil)
	if last := headOf(t, body); !last.Ended {
		t.Errorf("the last update is %+v, want the end", last)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// TestComplete checks for which pages the server waits in the end.
func TestComplete(t *testing.T) {
	s, _ := serving(t, Options{})
	wait(s)
	check := func(what string, want bool) {
		t.Helper()
		if got := s.allComplete(); got != want {
			t.Errorf("%s: complete is %t, want %t", what, got, want)
		}
	}
	check("no page", true)
	first := s.see("a")
	check("a page that waits", false)
	second := s.see("a")
	s.answered("a", first, false, true)
	check("a page that gave its first request up", false)
	s.answered("a", second, true, false)
	check("a page that has everything", true)
	third := s.see("b")
	check("another one", false)
	s.answered("b", third, false, false)
	check("one that will ask again", false)
	s.answered("b", s.see("b"), true, true)
	check("one that gave up the answer with everything", false)
	s.away = 0
	check("one that did so long ago", true)
	s.answered("b", s.see("b"), false, false)
	check("one that asked anew", false)
	s.absent = 0
	check("one that asked long ago", true)
	s.see("b")
	check("one that asks now", false)
	s.answered("b", s.see("b"), true, false)
	s.see("c")
	s.answered("c", s.see("c"), false, false)
	s.see("d")
	if _, kept := s.tabs["c"]; kept {
		t.Error("a page that asked long ago is kept")
	}
	s.farewell = 0 // the rest does not ask
}

// TestSlowBrowser has a browser that reads nothing of a large answer: events are added, other
// browsers get them, and the server ends.
func TestSlowBrowser(t *testing.T) {
	s, p := serving(t, Options{})
	hurry(s)
	const large = 1500 // texts of 4 KiB that are not yet in a full block
	for i := range large {
		p.Add(&event.Event{Time: time.Unix(1e9, 0), Provider: "p", Name: "n", Args: []event.Arg{{Name: "a", Value: fmt.Sprintf("%4096d", i)}}})
	}
	c, err := net.Dial("tcp", s.hosts[0])
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(c, "GET /update?tab=slow HTTP/1.1\r\nHost: %s\r\n%s: %s\r\n\r\n", s.hosts[0], tokenHeader, s.token)
	if _, err := c.Read(make([]byte, 1)); err != nil { // the answer begins
		t.Fatal(err)
	}
	for range large {
		p.Add(&event.Event{Time: time.Unix(1e9, 0), Provider: "p", Name: "n"})
	}
	_, body, _ := request(t, s, "GET", "/update?tab=other", nil)
	if got := headOf(t, body).Contents.Total; got != 1+2*large {
		t.Errorf("another browser gets %d events, want %d", got, 1+2*large)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
