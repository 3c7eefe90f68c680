package usdthttp

import (
	"fmt"
	"net/http"
	"time"

	"github.com/go-usdt/usdt/provider"
)

// Handler returns a handler that serves by next, http.DefaultServeMux if it is nil, and
// whose requests fire probes. Put it inside the handler that begins the request's span, so
// that the context has it.
//
// The http.ResponseWriter that next gets while somebody watches implements http.Flusher,
// http.Hijacker, http.Pusher and http.CloseNotifier if the one below does, and
// http.ResponseController reaches that one. As behind any handler that has a writer of its
// own, http.MaxBytesReader does not close the connection of a request that is too large.
func Handler(next http.Handler, opts *Options) http.Handler {
	if next == nil {
		next = http.DefaultServeMux
	}
	return &handler{next, opts}
}

type handler struct {
	next http.Handler
	opts *Options
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !server.Enabled() {
		h.next.ServeHTTP(w, r)
		return
	}
	h.serve(w, r)
}

func (h *handler) serve(w http.ResponseWriter, r *http.Request) {
	done := serverRequestDone{request: h.opts.request(r)}
	serverStart.Fire(&serverRequestStart{done.request, r.RemoteAddr})
	begin := time.Now()
	to := &writer{ResponseWriter: w}
	returned := false
	defer func() {
		done.Duration = time.Since(begin)
		done.Route, done.Status, done.Bytes = r.Pattern, to.status, to.bytes
		if !returned {
			// Goexit has no reason.
			if v := recover(); v != nil {
				done.Error = provider.As(v, panicked)
				defer panic(v) // in the panicking function's calls: a trace has them
			}
		} else if err := r.Context().Err(); err != nil && !to.hijacked { // which ends with what is read
			done.Error = provider.Error(err)
		}
		serverDone.Fire(&done)
	}()
	h.next.ServeHTTP(to.like(), r)
	returned = true
	to.sent()
}

func panicked(v any) string { return fmt.Sprint("panic: ", v) }
