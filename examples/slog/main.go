// Slog passes log records to attached tracers, also those below the level that is
// written: turn debugging on for a minute without a restart.
//
//	sdttrace -p PID 'logs:record'
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/go-usdt/usdt/provider"
)

var (
	logs   = provider.New("logs", nil)
	record = provider.NewProbe3[int, string, string](logs, "record", "level", "msg", "attrs")
)

// Handler passes records to another handler and to a probe.
type Handler struct {
	slog.Handler
	prefix string // of groups
	attrs  string // of With
}

// Enabled also lets records pass while the probe is watched.
func (h *Handler) Enabled(ctx context.Context, l slog.Level) bool {
	return record.Enabled() || h.Handler.Enabled(ctx, l)
}

func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	if record.Enabled() {
		var b strings.Builder
		b.WriteString(h.attrs)
		r.Attrs(func(a slog.Attr) bool {
			fmt.Fprintf(&b, " %s%s=%v", h.prefix, a.Key, a.Value.Resolve())
			return true
		})
		record.Fire(int(r.Level), r.Message, strings.TrimPrefix(b.String(), " "))
	}
	if !h.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	var b strings.Builder
	b.WriteString(h.attrs)
	for _, a := range attrs {
		fmt.Fprintf(&b, " %s%s=%v", h.prefix, a.Key, a.Value.Resolve())
	}
	return &Handler{h.Handler.WithAttrs(attrs), h.prefix, b.String()}
}

func (h *Handler) WithGroup(name string) slog.Handler {
	return &Handler{h.Handler.WithGroup(name), h.prefix + name + ".", h.attrs}
}

func main() {
	if err := logs.Load(); err != nil {
		slog.Error("load probes", "err", err) // logging works without them
	}
	defer logs.Close()
	logger := slog.New(&Handler{Handler: slog.NewTextHandler(os.Stderr, nil)}).With("service", "demo")
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	ticker := time.NewTicker(10 * time.Millisecond)
	fmt.Println("pid", os.Getpid())
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		case <-ticker.C:
			logger.Debug("tick", "i", i)
		}
	}
}
