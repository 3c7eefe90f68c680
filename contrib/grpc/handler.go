package usdtgrpc

import (
	"context"
	"net"
	"sync/atomic"

	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// Options say what calls pass. Nil means the default.
type Options struct {
	// IDs returns the identifiers of the span in a context. The function of that name in
	// contrib/otel is one. If it is nil, trace_id and span_id are zeros.
	IDs func(context.Context) (traceID [16]byte, spanID [8]byte)
}

// ServerHandler returns the handler for grpc.StatsHandler. Any number of servers may
// have one.
func ServerHandler(opts *Options) stats.Handler { return newHandler(server, opts) }

// ClientHandler returns the handler for grpc.WithStatsHandler. Any number of connections
// may have one.
func ClientHandler(opts *Options) stats.Handler { return newHandler(client, opts) }

func newHandler(s *side, opts *Options) *handler {
	h := &handler{side: s}
	if opts != nil {
		h.ids = opts.IDs
	}
	return h
}

type handler struct {
	*side
	ids func(context.Context) ([16]byte, [8]byte)
}

var calls atomic.Uint64

// call is one that began while somebody watched. Its messages are counted by the
// goroutines that send and receive.
type call struct {
	request
	peer           atomic.Pointer[net.Addr]
	sent, received atomic.Uint64
}

// key is that of a handler's call in a context. A context may have calls of several
// handlers: a server passes its own on to the calls that it makes.
type key struct{ *handler }

func (h *handler) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	if !h.provider.Enabled() {
		return ctx
	}
	return context.WithValue(ctx, key{h}, &call{request: request{ID: calls.Add(1), Method: info.FullMethodName}})
}

func (h *handler) HandleRPC(ctx context.Context, s stats.RPCStats) {
	if !h.provider.Enabled() {
		return
	}
	c, ok := ctx.Value(key{h}).(*call)
	if !ok {
		return
	}
	switch s := s.(type) {
	case *stats.Begin:
		h.begin(ctx, c, s)
	case *stats.OutHeader:
		if s.Client && s.RemoteAddr != nil {
			c.peer.Store(&s.RemoteAddr)
		}
	case *stats.OutPayload:
		c.sent.Add(1)
		h.sent.Fire(&message{c.request, s.Length})
	case *stats.InPayload:
		c.received.Add(1)
		h.received.Fire(&message{c.request, s.Length})
	case *stats.End:
		h.end(c, s)
	}
}

func (h *handler) begin(ctx context.Context, c *call, s *stats.Begin) {
	if h.ids != nil {
		c.TraceID, c.SpanID = h.ids(ctx)
	}
	if p, ok := peer.FromContext(ctx); ok && !s.Client {
		c.peer.Store(&p.Addr)
	}
	h.start.Fire(&requestStart{c.request, c.address()})
}

func (h *handler) end(c *call, s *stats.End) {
	state, ok := status.FromError(s.Error)
	if !ok {
		state = status.FromContextError(s.Error)
	}
	h.done.Fire(&requestDone{
		c.request, c.address(), state.Code().String(),
		c.sent.Load(), c.received.Load(), s.EndTime.Sub(s.BeginTime), state.Message(),
	})
}

// address returns the peer's address, "" while it is not known.
func (c *call) address() string {
	if a := c.peer.Load(); a != nil && *a != nil {
		return (*a).String()
	}
	return ""
}

func (h *handler) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (h *handler) HandleConn(context.Context, stats.ConnStats) {}
