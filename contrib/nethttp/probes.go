package usdthttp

import (
	"context"
	"encoding/hex"
	"sync/atomic"
	"time"

	"github.com/go-usdt/usdt/provider"
)

var (
	server      = provider.New("http_server", nil)
	serverStart = provider.NewRecord[serverRequestStart](server, "request_start")
	serverDone  = provider.NewRecord[serverRequestDone](server, "request_done")

	client         = provider.New("http_client", nil)
	clientStart    = provider.NewRecord[clientRequestStart](client, "request_start")
	clientResponse = provider.NewRecord[clientResponseReceived](client, "response_received")
	clientDone     = provider.NewRecord[clientRequestDone](client, "request_done")

	requests atomic.Uint64
)

type serverRequestStart struct {
	ID      uint64 `usdt:"id"`
	TraceID string `usdt:"trace_id"`
	SpanID  string `usdt:"span_id"`
	Method  string `usdt:"method"`
	Host    string `usdt:"host"`
	Path    string `usdt:"path"`
	Peer    string `usdt:"peer"`
}

type serverRequestDone struct {
	ID       uint64        `usdt:"id"`
	TraceID  string        `usdt:"trace_id"`
	SpanID   string        `usdt:"span_id"`
	Method   string        `usdt:"method"`
	Host     string        `usdt:"host"`
	Path     string        `usdt:"path"`
	Route    string        `usdt:"route"`
	Status   int           `usdt:"status"`
	Bytes    int64         `usdt:"bytes"`
	Duration time.Duration `usdt:"duration_ns"`
	Error    provider.Text `usdt:"error"`
}

type clientRequestStart struct {
	ID      uint64 `usdt:"id"`
	TraceID string `usdt:"trace_id"`
	SpanID  string `usdt:"span_id"`
	Method  string `usdt:"method"`
	Host    string `usdt:"host"`
	Path    string `usdt:"path"`
}

type clientResponseReceived struct {
	ID       uint64        `usdt:"id"`
	TraceID  string        `usdt:"trace_id"`
	SpanID   string        `usdt:"span_id"`
	Method   string        `usdt:"method"`
	Host     string        `usdt:"host"`
	Path     string        `usdt:"path"`
	Status   int           `usdt:"status"`
	Duration time.Duration `usdt:"duration_ns"`
}

type clientRequestDone struct {
	ID       uint64        `usdt:"id"`
	TraceID  string        `usdt:"trace_id"`
	SpanID   string        `usdt:"span_id"`
	Method   string        `usdt:"method"`
	Host     string        `usdt:"host"`
	Path     string        `usdt:"path"`
	Status   int           `usdt:"status"`
	Bytes    int64         `usdt:"bytes"`
	Duration time.Duration `usdt:"duration_ns"`
	Error    provider.Text `usdt:"error"`
}

// Options say what requests pass. Nil means the default.
type Options struct {
	// IDs returns the identifiers of the span in a request's context. The function of that
	// name in contrib/otel is one. If it is nil, trace_id and span_id are empty.
	IDs func(context.Context) (traceID [16]byte, spanID [8]byte)
}

// of returns the identifiers of the span in ctx as text.
func (o *Options) of(ctx context.Context) (traceID, spanID string) {
	if o == nil || o.IDs == nil {
		return "", ""
	}
	t, s := o.IDs(ctx)
	if t == [16]byte{} {
		return "", ""
	}
	return hex.EncodeToString(t[:]), hex.EncodeToString(s[:])
}
