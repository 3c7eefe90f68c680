package usdtslog

import (
	"context"
	"log/slog"
	"strings"
	"time"
)

// entry is what a record's text is made of.
type entry struct {
	with   []with
	record *slog.Record
}

// text returns the attributes as slog.TextHandler writes them.
func (e entry) text() string {
	var b strings.Builder
	var h slog.Handler = slog.NewTextHandler(&b, nil)
	for _, w := range e.with {
		if w.group != "" {
			h = h.WithGroup(w.group)
		} else {
			h = h.WithAttrs(w.attrs)
		}
	}
	// A record without a time; its level and message are cut off.
	r := slog.NewRecord(time.Time{}, slog.LevelInfo, "", 0)
	e.record.Attrs(func(a slog.Attr) bool {
		r.AddAttrs(a)
		return true
	})
	h.Handle(context.Background(), r) // b takes all
	_, attrs, _ := strings.Cut(b.String(), `msg=""`)
	return strings.TrimSpace(attrs)
}
