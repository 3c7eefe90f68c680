package usdthttp

import (
	"cmp"
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/go-usdt/usdt/provider"
)

var (
	server      = provider.New("http_server", nil)
	serverStart = provider.NewStructProbe[serverRequestStart](server, "request_start")
	serverDone  = provider.NewStructProbe[serverRequestDone](server, "request_done")

	client         = provider.New("http_client", nil)
	clientStart    = provider.NewStructProbe[request](client, "request_start")
	clientResponse = provider.NewStructProbe[clientResponseReceived](client, "response_received")
	clientDone     = provider.NewStructProbe[clientRequestDone](client, "request_done")

	requests atomic.Uint64
)

// request is what all probes say of a request.
type request struct {
	ID      uint64   `usdt:"id"`
	TraceID [16]byte `usdt:"trace_id"`
	SpanID  [8]byte  `usdt:"span_id"`
	Method  string   `usdt:"method"`
	Host    string   `usdt:"host"`
	Path    string   `usdt:"path"`
}

type serverRequestStart struct {
	request
	Peer string `usdt:"peer"`
}

type serverRequestDone struct {
	request
	Route    string        `usdt:"route"`
	Status   int           `usdt:"status"`
	Bytes    int64         `usdt:"bytes"`
	Duration time.Duration `usdt:"duration_ns"`
	Error    provider.Text `usdt:"error"`
}

type clientResponseReceived struct {
	request
	Status   int           `usdt:"status"`
	Duration time.Duration `usdt:"duration_ns"`
}

type clientRequestDone struct {
	request
	Status   int           `usdt:"status"`
	Bytes    int64         `usdt:"bytes"`
	Duration time.Duration `usdt:"duration_ns"`
	Error    provider.Text `usdt:"error"`
}

// Options say what requests pass. Nil means the default.
type Options struct {
	// IDs returns the identifiers of the span in a request's context. The function of that
	// name in contrib/otel is one. If it is nil, trace_id and span_id are zeros.
	IDs func(context.Context) (traceID [16]byte, spanID [8]byte)
}

// request begins what a request fires.
func (o *Options) request(r *http.Request) request {
	begun := request{ID: requests.Add(1), Method: cmp.Or(r.Method, http.MethodGet), Host: r.Host}
	if r.URL != nil { // in a test there may be none
		begun.Host, begun.Path = cmp.Or(r.Host, r.URL.Host), r.URL.Path
	}
	if o != nil && o.IDs != nil {
		begun.TraceID, begun.SpanID = o.IDs(r.Context())
	}
	return begun
}
