package usdthttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/go-usdt/usdt/contrib/nethttp"
	"github.com/go-usdt/usdt/internal/systest/fired"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/provider/providertest"
)

// TestClient checks what each request of a client fires, and when.
func TestClient(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		s, _, _ := serve(t, site(t, nil), http2)
		rec := providertest.Record(t, client)
		transport := usdthttp.RoundTripper(s.Client().Transport, nil)
		c := &http.Client{Transport: transport}
		for _, test := range []struct {
			method, path string
			read         int // of the body; -1 for all
			want         string
		}{
			{"GET", "/item/clock", -1, "200 7 "},
			{"HEAD", "/item/clock", -1, "200 0 "},
			{"GET", "/nothing", -1, "200 0 "},
			{"GET", "/file", 1000, "200 1000 "},
			{"GET", "/late", -1, "202 0 error"},
			{"GET", "/panic", -1, "0 0 error"},
			{"GET", "/slow", -1, "0 0 error"},
		} {
			rec.Reset()
			ctx, cancel := context.WithCancel(t.Context())
			if test.path == "/slow" {
				go giveUp(ctx, cancel)
			}
			req, _ := http.NewRequestWithContext(ctx, test.method, s.URL+test.path, nil)
			req.Close = !http2 // no request is tried again
			resp, err := c.Do(req)
			if err == nil {
				if got := all(rec.Events("response_received")); len(got) != 1 || got[0]["status"] != int64(resp.StatusCode) {
					t.Errorf("%s: received %v", test.path, got)
				}
				var body io.Reader = resp.Body
				if test.read >= 0 {
					body = io.LimitReader(body, int64(test.read))
				} else if resp.Body != http.NoBody && resp.ContentLength != 0 && len(rec.Events("request_done")) != 0 {
					t.Errorf("%s: done before the body is read", test.path)
				}
				io.Copy(io.Discard, body)
				resp.Body.Close()
				resp.Body.Close()
			}
			cancel()
			done := all(rec.Events("request_done"))
			if len(done) != 1 {
				t.Errorf("%s: %d requests ended", test.path, len(done))
				continue
			}
			d := done[0]
			want := test.want
			if text, ok := strings.CutSuffix(want, "error"); ok && d["error"] != "" {
				want = text + d["error"].(string)
			}
			if got := fmt.Sprint(d["status"], " ", d["bytes"], " ", d["error"]); got != want || d["method"] != test.method || d["path"] != test.path || d["id"] != all(rec.Events("request_start"))[0]["id"] {
				t.Errorf("%s: got %q, want %q: %v", test.path, got, want, d)
			}
		}
	}
}

// TestIdle checks that http.Client.CloseIdleConnections reaches the transport.
func TestIdle(t *testing.T) {
	below := &idle{}
	c := &http.Client{Transport: usdthttp.RoundTripper(below, nil)}
	c.CloseIdleConnections()
	if below.closed != 1 {
		t.Errorf("closed %d times", below.closed)
	}
	usdthttp.RoundTripper(roundTrip(nil), nil).(interface{ CloseIdleConnections() }).CloseIdleConnections()
}

type idle struct {
	http.RoundTripper
	closed int
}

func (i *idle) CloseIdleConnections() { i.closed++ }

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestOddTransports checks transports that do what they should not.
func TestOddTransports(t *testing.T) {
	rec := providertest.Record(t, client)
	try := func(f roundTrip) (resp *http.Response, panicked any, err error) {
		defer func() { panicked = recover() }()
		resp, err = usdthttp.RoundTripper(f, nil).RoundTrip(&http.Request{})
		return resp, nil, err
	}
	if resp, p, err := try(func(*http.Request) (*http.Response, error) { return nil, nil }); resp != nil || err != nil || p != nil {
		t.Errorf("got %v, %v, %v", resp, err, p)
	}
	if resp, p, err := try(func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 204}, nil }); resp.Body != nil || err != nil || p != nil {
		t.Errorf("got %v, %v, %v", resp, err, p)
	}
	reason := errors.New("out of order")
	if _, p, _ := try(func(*http.Request) (*http.Response, error) { panic(reason) }); p != reason {
		t.Errorf("the panic is %v", p)
	}
	var got []string
	for _, d := range all(rec.Events("request_done")) {
		got = append(got, fmt.Sprint(d["method"], d["status"], d["error"]))
	}
	if want := "[GET0 GET204 GET0panic: out of order]"; fmt.Sprint(got) != want {
		t.Errorf("fired %v, want %s", got, want)
	}
}

type traceKey struct{}

// TestTraced has sdttrace print the requests of many clients.
func TestTraced(t *testing.T) {
	opts := &usdthttp.Options{IDs: func(ctx context.Context) (trace [16]byte, span [8]byte) {
		trace[15], _ = ctx.Value(traceKey{}).(byte)
		return trace, span
	}}
	mux := http.NewServeMux()
	mux.Handle("POST /item/{n}", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(201)
		w.Write(body)
	}))
	s, _, _ := serve(t, usdthttp.Handler(mux, nil), false)
	tr := fired.Trace(t, "http_*:*")
	c := &http.Client{Transport: usdthttp.RoundTripper(s.Client().Transport, opts)}
	const clients, requests = 8, 25
	var wait sync.WaitGroup
	for i := range clients {
		wait.Go(func() {
			ctx := context.WithValue(t.Context(), traceKey{}, byte(i+1))
			for n := range requests {
				req, _ := http.NewRequestWithContext(ctx, "POST", fmt.Sprint(s.URL, "/item/", n), strings.NewReader(strings.Repeat("x", n)))
				resp, err := c.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
	wait.Wait()
	s.Close() // no handler runs any more
	counts, ids := map[string]int{}, map[any]bool{}
	for _, ev := range tr.Stop() {
		counts[ev.Provider+":"+ev.Name]++
		if ev.Name != "request_done" {
			continue
		}
		ids[ev.Args["id"]] = true
		want := fmt.Sprint("POST /item/", ev.Args["bytes"], " 201")
		if got := fmt.Sprint(ev.Args["method"], " ", ev.Args["path"], " ", ev.Args["status"]); got != want || ev.Args["error"] != "" {
			t.Errorf("got %v", ev.Args)
		}
		if trace, ok := ev.Args["trace_id"].(string); ev.Provider == "http_client" && (!ok || !strings.HasPrefix(trace, strings.Repeat("0", 31))) {
			t.Errorf("a client's trace is %v", ev.Args["trace_id"])
		}
		if ev.Provider == "http_server" && ev.Args["route"] != "POST /item/{n}" {
			t.Errorf("the route is %v", ev.Args["route"])
		}
	}
	const n = clients * requests
	want := map[string]int{"http_server:request_start": n, "http_server:request_done": n, "http_client:request_start": n, "http_client:response_received": n, "http_client:request_done": n}
	if fmt.Sprint(counts) != fmt.Sprint(want) || len(ids) != 2*n {
		t.Errorf("got %v and %d ids, want %v", counts, len(ids), want)
	}
}

// BenchmarkRoundTripper makes a request by a transport, and by one that is wrapped and
// not watched.
func BenchmarkRoundTripper(b *testing.B) {
	if err := provider.LoadAll(nil); err != nil {
		b.Fatal(err)
	}
	defer provider.CloseAll()
	resp := &http.Response{StatusCode: 200, Body: http.NoBody}
	below := roundTrip(func(*http.Request) (*http.Response, error) { return resp, nil })
	req, _ := http.NewRequest("GET", "http://localhost/", nil)
	for name, rt := range map[string]http.RoundTripper{"bare": below, "wrapped": usdthttp.RoundTripper(below, nil)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				rt.RoundTrip(req)
			}
		})
	}
}
