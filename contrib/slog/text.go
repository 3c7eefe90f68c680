package usdtslog

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
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
	var attrs []slog.Attr
	e.record.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, a)
		return true
	})
	return text(e.with, attrs)
}

func text(with []with, attrs []slog.Attr) string {
	var b strings.Builder
	var h slog.Handler = slog.NewTextHandler(&b, nil)
	for _, w := range with {
		if w.group != "" {
			h = h.WithGroup(w.group)
		} else {
			h = h.WithAttrs(w.attrs)
		}
	}
	// A record without a time; its level and message are cut off.
	r := slog.NewRecord(time.Time{}, slog.LevelInfo, "", 0)
	r.AddAttrs(attrs...)
	h.Handle(context.Background(), r) // b takes all
	_, out, _ := strings.Cut(b.String(), `msg=""`)
	return strings.TrimSpace(out)
}

// settled returns a copy of attributes in which values that may change later have the text
// that they have now, as in handlers that write it at once.
func settled(attrs []slog.Attr) []slog.Attr {
	own := slices.Clone(attrs)
	for i := range own {
		v := &own[i].Value
		*v = v.Resolve()
		switch v.Kind() {
		case slog.KindGroup:
			*v = slog.GroupValue(settled(v.Group())...)
		case slog.KindAny:
			if own[i].Equal(slog.Attr{}) {
				continue // left out
			}
			written := strings.TrimPrefix(text(nil, []slog.Attr{{Key: "v", Value: *v}}), "v=")
			if unquoted, err := strconv.Unquote(written); err == nil {
				written = unquoted
			}
			*v = slog.StringValue(written)
		}
	}
	return own
}
