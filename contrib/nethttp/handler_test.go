package usdthttp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/contrib/nethttp"
	"github.com/go-usdt/usdt/internal/systest/fired"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/provider/providertest"
)

var (
	server = provider.New("http_server", nil)
	client = provider.New("http_client", nil)
)

// all returns the arguments of events.
func all(events []providertest.Event) (list []map[string]any) {
	for _, ev := range events {
		list = append(list, fired.Args(ev))
	}
	return list
}

// slow gets a value when a request for /slow has arrived.
var slow = make(chan bool, 1)

// giveUp cancels a request for /slow when it has arrived.
func giveUp(ctx context.Context, cancel func()) {
	select {
	case <-slow:
		cancel()
	case <-ctx.Done():
	}
}

// site is what the tests serve.
func site(t *testing.T, unblock <-chan bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /item/{name}", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "a ", r.PathValue("name")) })
	mux.HandleFunc("/hints", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusTeapot)
		w.WriteHeader(http.StatusOK) // net/http ignores it
	})
	mux.HandleFunc("/nothing", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/flush", func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		io.WriteString(w, "one ")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		io.WriteString(w, "two")
	})
	mux.HandleFunc("/file", func(w http.ResponseWriter, r *http.Request) {
		if n, err := io.Copy(w, io.LimitReader(strings.NewReader(strings.Repeat("x", 2e6)), 1e6)); n != 1e6 && err == nil {
			t.Errorf("copied %d", n)
		}
	})
	mux.HandleFunc("/hijack", func(w http.ResponseWriter, r *http.Request) {
		c, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n")
		rw.Flush()
		all, _ := io.ReadAll(rw) // until the client closes its half
		rw.Write(all)
		rw.Flush()
	})
	mux.HandleFunc("/panic", func(w http.ResponseWriter, r *http.Request) { panic(errors.New("sold out")) })
	mux.HandleFunc("/late", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		slow <- true
		<-r.Context().Done()
	})
	mux.HandleFunc("/deadline", func(w http.ResponseWriter, r *http.Request) {
		if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Error(err)
		}
		<-unblock
	})
	return mux
}

// serve starts a server. Its log reports panics of handlers; it has served a request when
// the handler has returned.
func serve(t *testing.T, h http.Handler, http2 bool) (s *httptest.Server, log *tracee.Output, served chan bool) {
	t.Helper()
	log, served = new(tracee.Output), make(chan bool, 1000)
	s = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			select {
			case served <- true:
			default: // nobody waits
			}
		}()
		h.ServeHTTP(w, r)
	}))
	s.Config.ErrorLog = stdlog.New(log, "", 0)
	s.EnableHTTP2 = http2
	if http2 {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s, log, served
}

// TestServer checks what each request of a server fires, by HTTP/1.1 and HTTP/2.
func TestServer(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		rec := providertest.Record(t, server)
		unblock := make(chan bool)
		close(unblock)
		s, log, served := serve(t, usdthttp.Handler(site(t, unblock), nil), http2)
		for _, c := range []struct {
			path, want string
		}{
			{"/item/clock", "GET /item/{name} 200 7 "},
			{"/none", " 404 19 "},
			{"/hints", "/hints 418 0 "},
			{"/nothing", "/nothing 200 0 "},
			{"/flush", "/flush 200 7 "},
			{"/file", "/file 200 1000000 "},
			{"/panic", "/panic 0 0 panic: sold out"},
			{"/late", "/late 202 0 panic: net/http: abort Handler"},
			{"/slow", "/slow 200 0 context canceled"},
			{"/deadline", "/deadline 200 0 "},
		} {
			rec.Reset()
			ctx, cancel := context.WithCancel(t.Context())
			if c.path == "/slow" {
				go giveUp(ctx, cancel)
			}
			req, _ := http.NewRequestWithContext(ctx, "GET", s.URL+c.path, nil)
			req.Close = !http2 // no request is tried again
			if resp, err := s.Client().Do(req); err == nil {
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			cancel()
			<-served
			done, starts := all(rec.Events("request_done")), all(rec.Events("request_start"))
			if len(done) != 1 || len(starts) != 1 {
				t.Errorf("%s: %d requests began, %d ended", c.path, len(starts), len(done))
				continue
			}
			d, st := done[0], starts[0]
			if got := fmt.Sprint(d["route"], " ", d["status"], " ", d["bytes"], " ", d["error"]); got != c.want {
				t.Errorf("%s: got %q, want %q", c.path, got, c.want)
			}
			if d["id"] != st["id"] || d["method"] != "GET" || d["path"] != c.path || st["path"] != c.path || d["host"] != strings.SplitAfter(s.URL, "//")[1] ||
				!strings.HasPrefix(st["peer"].(string), "127.0.0.1:") || d["duration_ns"].(time.Duration) <= 0 {
				t.Errorf("%s: got %v and %v", c.path, st, d)
			}
		}
		s.Close()
		if got := log.String(); strings.Count(got, "sold out") < 1 || !strings.Contains(got, "handler_test.go") {
			t.Errorf("the server's log does not name the panic's place:\n%s", got)
		}
	}
}

// TestHijack checks that a connection which a handler takes over works, at both ends.
func TestHijack(t *testing.T) {
	for _, watched := range []bool{false, true} {
		t.Run(fmt.Sprint("watched=", watched), func(t *testing.T) {
			s, _, served := serve(t, usdthttp.Handler(site(t, nil), nil), false)
			var atServer, atClient *providertest.Recorder
			if watched {
				atServer, atClient = providertest.Record(t, server), providertest.Record(t, client)
			}
			req, _ := http.NewRequestWithContext(t.Context(), "GET", s.URL+"/hijack", nil)
			req.Header.Set("Connection", "Upgrade")
			req.Header.Set("Upgrade", "echo")
			resp, err := usdthttp.RoundTripper(s.Client().Transport, nil).RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			rw := resp.Body.(io.ReadWriteCloser)
			fmt.Fprintln(rw, "hello")
			if err := rw.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
				t.Error(err)
			}
			if line, err := bufio.NewReader(rw).ReadString('\n'); line != "hello\n" || err != nil {
				t.Errorf("got %q: %v", line, err)
			}
			rw.Close()
			if !watched {
				return
			}
			<-served
			if got := all(atServer.Events("request_done")); len(got) != 1 || got[0]["status"] != int64(0) || got[0]["error"] != "" {
				t.Errorf("the server fired %v", got)
			}
			if got := all(atClient.Events("request_done")); len(got) != 1 || got[0]["status"] != int64(101) || got[0]["bytes"] != int64(6) {
				t.Errorf("the client fired %v", got)
			}
		})
	}
}

// TestInterfaces checks that handlers find what the writer below can do, and no more.
func TestInterfaces(t *testing.T) {
	type base = http.ResponseWriter
	for _, w := range []base{
		bare{},
		struct {
			bare
			http.Flusher
		}{},
		struct {
			bare
			http.Hijacker
		}{},
		struct {
			bare
			http.Pusher
		}{},
		struct {
			bare
			closeNotifier
		}{},
		struct {
			bare
			http.Hijacker
			http.Pusher
			closeNotifier
		}{},
		struct {
			bare
			http.Flusher
			http.Pusher
			closeNotifier
		}{},
		struct {
			bare
			http.Flusher
			http.Hijacker
			closeNotifier
		}{},
		struct {
			bare
			http.Flusher
			http.Hijacker
			http.Pusher
		}{},
		struct {
			bare
			http.Flusher
			http.Hijacker
			http.Pusher
			closeNotifier
		}{},
		httptest.NewRecorder(),
	} {
		for _, watched := range []bool{false, true} {
			t.Run("", func(t *testing.T) {
				if watched {
					providertest.Record(t, server)
				}
				var got string
				usdthttp.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					got = can(w)
					io.WriteString(w, "")
				}), nil).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
				if want := can(w); got != want {
					t.Errorf("watched %v, %T: the handler's writer can %q, the server's %q", watched, w, got, want)
				}
			})
		}
	}
}

// can lists what a writer says that it can do.
func can(w http.ResponseWriter) (list string) {
	if _, ok := w.(http.Flusher); ok {
		list += "flush "
	}
	if _, ok := w.(http.Hijacker); ok {
		list += "hijack "
	}
	if _, ok := w.(http.Pusher); ok {
		list += "push "
	}
	if _, ok := w.(closeNotifier); ok {
		list += "notify "
	}
	return list
}

type closeNotifier interface{ CloseNotify() <-chan bool }

type bare struct{}

func (bare) Header() http.Header         { return http.Header{} }
func (bare) Write(b []byte) (int, error) { return len(b), nil }
func (bare) WriteHeader(int)             {}

// TestFlushError checks that http.ResponseController gets the error of the writer below.
func TestFlushError(t *testing.T) {
	providertest.Record(t, server)
	h := usdthttp.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err := http.NewResponseController(w).Flush(); err != net.ErrClosed {
			t.Errorf("got the error %v", err)
		}
	}), nil)
	h.ServeHTTP(failing{httptest.NewRecorder()}, httptest.NewRequest("GET", "/", nil))
}

type failing struct{ *httptest.ResponseRecorder }

func (failing) FlushError() error { return net.ErrClosed }

// TestKnown checks that package prototype knows the probes.
func TestKnown(t *testing.T) {
	fired.Known(t, "http_server", 2)
	fired.Known(t, "http_client", 3)
}

// TestAllocs checks that unwatched requests take no allocation more, at both ends.
func TestAllocs(t *testing.T) {
	serve := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200) })
	resp := &http.Response{StatusCode: 200, Body: http.NoBody}
	answer := roundTrip(func(*http.Request) (*http.Response, error) { return resp, nil })
	r := httptest.NewRequest("GET", "/", nil)
	both := func(h http.Handler, rt http.RoundTripper) func() {
		return func() {
			h.ServeHTTP(bare{}, r)
			rt.RoundTrip(r)
		}
	}
	fired.NoAllocs(t, both(serve, answer), both(usdthttp.Handler(serve, nil), usdthttp.RoundTripper(answer, nil)))
}

// BenchmarkHandler serves a request by a handler, and by one that is wrapped and not
// watched.
func BenchmarkHandler(b *testing.B) {
	if err := provider.LoadAll(nil); err != nil {
		b.Fatal(err)
	}
	defer provider.CloseAll()
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200) })
	r := httptest.NewRequest("GET", "/", nil)
	for name, h := range map[string]http.Handler{"bare": h, "wrapped": usdthttp.Handler(h, nil)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				h.ServeHTTP(bare{}, r)
			}
		})
	}
}
