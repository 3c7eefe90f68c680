package usdtslog

import (
	"context"
	"log/slog"
	"slices"

	"github.com/go-usdt/usdt/provider"
)

var (
	logs   = provider.New("slog", nil)
	record = provider.NewStructProbe[logRecord](logs, "record")
)

type logRecord struct {
	TraceID [16]byte      `usdt:"trace_id"`
	SpanID  [8]byte       `usdt:"span_id"`
	Level   int           `usdt:"level"`
	Msg     string        `usdt:"msg"`
	Attrs   provider.Text `usdt:"attrs"`
}

// Options say what records pass. Nil means the default.
type Options struct {
	// IDs returns the identifiers of the span in a record's context. The function of that
	// name in contrib/otel is one. If it is nil, trace_id and span_id are zeros.
	IDs func(context.Context) (traceID [16]byte, spanID [8]byte)
}

// NewHandler returns a handler that passes records to a probe and to next, which gets
// the records that it enables. If next is nil, the probe alone gets them. As any handler does,
// one in front of slog.Default's own handler waits for ever once slog.SetDefault is given it.
func NewHandler(next slog.Handler, opts *Options) slog.Handler {
	if next == nil {
		next = slog.DiscardHandler
	}
	h := &handler{next: next}
	if opts != nil {
		h.ids = opts.IDs
	}
	return h
}

type handler struct {
	next slog.Handler
	ids  func(context.Context) ([16]byte, [8]byte)
	with []with // a prefix may be shared with other handlers
}

// with is what WithGroup or WithAttrs was given.
type with struct {
	group string
	attrs []slog.Attr
}

func (h *handler) Enabled(ctx context.Context, l slog.Level) bool {
	return record.Enabled() || h.next.Enabled(ctx, l)
}

func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	if record.Enabled() {
		h.fire(ctx, r)
	}
	// It may not be, if somebody watches, or has until now.
	if !h.next.Enabled(ctx, r.Level) {
		return nil
	}
	return h.next.Handle(ctx, r)
}

func (h *handler) fire(ctx context.Context, r slog.Record) {
	fired := logRecord{Level: int(r.Level), Msg: r.Message, Attrs: provider.As(entry{h.with, &r}, entry.text)}
	if h.ids != nil {
		fired.TraceID, fired.SpanID = h.ids(ctx)
	}
	record.Fire(&fired)
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if len(attrs) == 0 {
		return h
	}
	own := settled(attrs) // next may change attrs
	return &handler{h.next.WithAttrs(attrs), h.ids, append(slices.Clip(h.with), with{attrs: own})}
}

func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return &handler{h.next.WithGroup(name), h.ids, append(slices.Clip(h.with), with{group: name})}
}
