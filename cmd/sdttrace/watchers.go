package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/internal/watch"
	"github.com/go-usdt/usdt/reader"
)

// watched reports whether the probe's memory shows that somebody watches it.
func (p *liveProbe) watched() bool {
	return p.Semaphore != nil && *p.Semaphore > 0 || p.State == reader.Int3Site.String() || p.State == reader.CallSite.String()
}

// findWatchers adds the watchers of the probes. It searches the machine only if
// some probe is watched.
func (l *lister) findWatchers(stderr io.Writer) {
	var watchers *watch.Watchers
	unknown := 0
	for i := range l.probes {
		p := &l.probes[i]
		if !p.watched() {
			continue
		}
		if watchers == nil {
			watchers = watch.Find()
		}
		p.Watchers = watchers.At(p.Path, p.opens, p.offset, p.PID)
		if len(p.Watchers) == 0 {
			// Tracers prefer a longer nop behind a one-byte nop.
			p.Watchers = watchers.At(p.Path, p.opens, p.offset+1, p.PID)
		}
		if len(p.Watchers) == 0 {
			unknown++
		}
	}
	if unknown == 0 {
		return
	}
	why := "no BPF link, perf event or line of uprobe_events has them"
	if len(watchers.Unseen) > 0 {
		why = "sdttrace cannot see " + strings.ReplaceAll(errors.Join(watchers.Unseen...).Error(), "\n", "; ")
	}
	fmt.Fprintf(stderr, "sdttrace: the watchers of %d of these sites are unknown: %s\n", unknown, printable.String(why))
}

// by returns the watchers, a word for each.
func (p *liveProbe) by() string {
	if len(p.Watchers) == 0 {
		if p.watched() {
			return "?"
		}
		return "-"
	}
	var all []string
	for _, w := range p.Watchers {
		var s string
		switch {
		case w.PID != 0:
			s = fmt.Sprintf("%s/%d", printable.String(w.Comm), w.PID)
		case w.Event != "":
			s = "tracefs"
		default:
			s = fmt.Sprintf("link/%d", w.Link) // a link that only a file in bpffs holds
		}
		if w.Maybe {
			s += "?"
		}
		if w.Event != "" {
			s += "(" + printable.String(w.Event) + ")"
		}
		all = append(all, strings.ReplaceAll(s, " ", "_"))
	}
	return strings.Join(all, ",")
}
