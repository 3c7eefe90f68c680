package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"mime"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/page"
	"github.com/go-usdt/usdt/internal/printable"
)

// Options are what a server shows.
type Options struct {
	Page    *page.Page
	Summary func() page.Summary // of what the page has now
	// Tree returns the probes that can be traced; nil if none are shown.
	Tree func(context.Context) (*Tree, error)
	// Change attaches to a probe of the tree, or detaches from it; nil if the page is read-only.
	// It returns a [RequestError] if the request is wrong.
	Change func(context.Context, Change) error
	// Keep writes a file, one of [Downloads], of the events that the page shows; nil if
	// none are offered.
	Keep func(ctx context.Context, as string, w io.Writer) error
}

// Change is what the page asks for by a click.
type Change struct {
	Probe
	Attach bool
}

// RequestError is an error in a request.
type RequestError string

func (e RequestError) Error() string { return string(e) }

// Server serves a page.
type Server struct {
	o        Options
	listener net.Listener
	token    string
	hosts    []string
	http     http.Server
	served   chan error
	end      sync.Once
	ended    chan struct{} // closed when nothing follows
	// farewell is how long pages may take to draw what they have and to fetch the end,
	// lastAnswers how long answers may take that are being written then.
	farewell, lastAnswers time.Duration
	// absent is after how long a page that does not ask has been closed, away after how long
	// one has that gave up its request: one that pauses, or goes on, does that to ask anew.
	absent, away time.Duration

	keeping sync.Mutex // one download gathers events

	mu       sync.Mutex
	tabs     map[string]tab // pages that are shown
	requests uint64
}

// tab is a page that a browser shows.
type tab struct {
	seen     time.Time
	request  uint64 // the number of its last one
	waiting  bool   // has a request that is not yet answered
	complete bool   // has all
	gone     bool   // gave its last request up
}

const (
	// pause is the time from one update to the next, while events come.
	pause = time.Second
	// patience is how long an update waits for events, so that the page learns that the
	// server lives.
	patience = 15 * time.Second
	maxTabs  = 64
)

// New returns a server for a listener of [Listen], which it closes in the end.
func New(l net.Listener, o Options) *Server {
	s := &Server{
		o: o, listener: l, token: newToken(), hosts: hostsOf(l), served: make(chan error, 1), ended: make(chan struct{}),
		farewell: 10 * time.Second, lastAnswers: 3 * time.Second, absent: 10 * time.Second, away: 2 * time.Second, tabs: map[string]tab{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.document)
	mux.HandleFunc("GET /update", s.update)
	mux.HandleFunc("GET /download", s.download)
	mux.HandleFunc("GET /probes", s.tree)
	mux.HandleFunc("POST /probes", s.change)
	s.http = http.Server{
		Handler: s.guard(mux), ConnContext: withConnection, ErrorLog: log.New(io.Discard, "", 0),
		ReadTimeout: 10 * time.Second, WriteTimeout: 2 * time.Minute, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
	}
	return s
}

// URL returns the page's address, with the token.
func (s *Server) URL() string { return "http://" + s.hosts[0] + "/?token=" + s.token }

// Start begins to serve.
func (s *Server) Start() {
	go func() { s.served <- s.http.Serve(s.listener) }()
}

// Wait waits until ctx is done, or the server has to end, and returns why.
func (s *Server) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-s.served:
		s.served <- err
		if errors.Is(err, http.ErrServerClosed) {
			return nil
		}
		return fmt.Errorf("serve the page: %w", reason(err))
	}
}

// Close ends the server, once pages that are shown have all events, or do not ask for them.
func (s *Server) Close() error {
	s.end.Do(func() {
		close(s.ended)
		for deadline := time.Now().Add(s.farewell); !s.allComplete() && time.Now().Before(deadline); {
			time.Sleep(10 * time.Millisecond)
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), s.lastAnswers)
	defer cancel()
	if err := s.http.Shutdown(ctx); err == nil || !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return s.http.Close()
}

// allComplete reports whether all pages that are shown have everything.
func (s *Server) allComplete() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tabs {
		if !t.complete && s.shown(t) {
			return false
		}
	}
	return true
}

// shown reports whether a page asks, or may still do so.
func (s *Server) shown(t tab) bool {
	within := s.absent
	if t.gone {
		within = s.away
	}
	return t.waiting || time.Since(t.seen) < within
}

// see notes that a page asks, and returns the request's number.
func (s *Server) see(name string) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	for other, o := range s.tabs {
		if !s.shown(o) {
			delete(s.tabs, other)
		}
	}
	s.requests++
	if _, known := s.tabs[name]; known || len(s.tabs) < maxTabs {
		s.tabs[name] = tab{seen: time.Now(), request: s.requests, waiting: true}
	}
	return s.requests
}

// answered notes that a page's request ended, unless the page has sent another one since.
func (s *Server) answered(name string, request uint64, complete, gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, known := s.tabs[name]; known && t.request == request {
		s.tabs[name] = tab{seen: time.Now(), request: request, complete: complete && !gone, gone: gone}
	}
}

func (s *Server) document(w http.ResponseWriter, _ *http.Request) {
	html, policy, err := page.Live()
	if err != nil {
		http.Error(w, printable.String(err.Error()), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", policy+"; "+unframed)
	w.Write(html) // the browser may be gone
}

// update answers as soon as there is something new, but not sooner than the last answer
// allows; a page that pauses, as soon as nothing follows; one that had no answer before, at once.
func (s *Server) update(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	blocks, _ := strconv.ParseUint(query.Get("blocks"), 10, 64)
	since, name, pauses := page.Position{Blocks: blocks, Tag: query.Get("tag")}, query.Get("tab"), query.Get("until") == "end"
	back := query.Has("back")
	request, ended := s.see(name), false
	defer func() { s.answered(name, request, ended, r.Context().Err() != nil) }()
	wait := pause
	if since.Tag == "" || back {
		wait = 0
	}
	for begin := time.Now(); ; wait = pause {
		select {
		case <-s.ended:
			ended = true
		case <-r.Context().Done():
			return
		case <-time.After(wait):
		}
		var u *page.Update
		if !pauses || ended {
			var err error
			if u, err = s.o.Page.Update(s.o.Summary(), ended, since); err != nil {
				http.Error(w, printable.String(err.Error()), http.StatusInternalServerError)
				return
			}
		}
		switch {
		case u != nil:
			w.Header().Set("Content-Type", "application/octet-stream")
			ended = u.Write(w) == nil && ended
			return
		case ended || back || time.Since(begin) > patience:
			w.WriteHeader(http.StatusNoContent)
			return
		}
	}
}

func (s *Server) tree(w http.ResponseWriter, r *http.Request) {
	if s.o.Tree == nil {
		http.NotFound(w, r)
		return
	}
	t, err := s.o.Tree(r.Context())
	if err != nil {
		http.Error(w, printable.String(err.Error()), http.StatusInternalServerError)
		return
	}
	t.Attach = s.o.Change != nil
	text, err := printable.MarshalShown(t)
	if err != nil {
		http.Error(w, printable.String(err.Error()), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(text) // the browser may be gone
}

// maxChange bounds a request.
const maxChange = 64 << 10

func (s *Server) change(w http.ResponseWriter, r *http.Request) {
	var c Change
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		http.Error(w, "want a probe as JSON", http.StatusUnsupportedMediaType)
		return
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxChange)).Decode(&c); err != nil {
		http.Error(w, printable.String("want a probe as JSON: "+err.Error()), http.StatusBadRequest)
		return
	}
	err := s.o.Change(r.Context(), c)
	var request RequestError
	switch {
	case errors.As(err, &request):
		http.Error(w, printable.String(err.Error()), http.StatusBadRequest)
	case err != nil:
		http.Error(w, printable.String(err.Error()), http.StatusInternalServerError)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}
