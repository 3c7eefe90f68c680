package list

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/screen"
	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/internal/watch"
	"github.com/go-usdt/usdt/reader"
)

// watched reports whether the probe's memory shows that somebody watches it.
func (p *Probe) watched() bool {
	return p.Semaphore != nil && *p.Semaphore > 0 || p.State == reader.Int3Site.String() || p.State == reader.CallSite.String()
}

// Count returns how many tracers watch the probe, as far as its semaphore says that some
// do. The semaphore itself counts breakpoints: one for each site that has it, and for each
// copy of a site where segments of the file share pages.
func (p *Probe) Count() int {
	if *p.Semaphore == 0 {
		return int(p.Local)
	}
	tracers := map[watch.Watcher]bool{}
	for _, w := range p.Watchers {
		switch {
		case w.Maybe:
		case w.PID != 0:
			tracers[watch.Watcher{PID: w.PID}] = true
		default:
			tracers[w] = true
		}
	}
	return max(1, len(tracers)) + int(p.Local)
}

// findWatchers adds the watchers of the probes. It searches the machine only if
// some probe is watched. It returns how many probes have watchers that it did not find,
// and why not.
func (l *List) findWatchers() (unknown int, unseen []error) {
	var watchers *watch.Watchers
	for i := range l.Probes {
		p := &l.Probes[i]
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
	if unknown > 0 {
		unseen = watchers.Unseen
	}
	return unknown, unseen
}

// ReadWatched reads the probes and finds their watchers. A tracer that leaves between
// the two is counted by the probes and found nowhere, and so is one that has not yet
// attached what it counts, so that readWatched looks a few times before it says that
// watchers are unknown.
func (l *List) ReadWatched(ctx context.Context, pids []int, stderr io.Writer) error {
	for attempt := 0; ; attempt++ {
		var said bytes.Buffer
		now := *l
		err := now.read(ctx, pids, printable.Writer(&said))
		unknown, unseen := now.findWatchers()
		if unknown > 0 && len(unseen) == 0 && err == nil && attempt < rereads {
			continue
		}
		*l = now
		screen.WriteLines(stderr, said.Bytes())
		if unknown > 0 {
			why := "no BPF link, perf event or line of uprobe_events has them"
			if len(unseen) > 0 {
				why = "sdttrace cannot see " + strings.ReplaceAll(errors.Join(unseen...).Error(), "\n", "; ")
			}
			fmt.Fprintf(stderr, "sdttrace: the watchers of %d of these sites are unknown: %s\n", unknown, printable.String(why))
		}
		return err
	}
}

// rereads is how often a list is read again because it has unknown watchers.
const rereads = 2

// By returns the watchers, a word for each.
func (p *Probe) By() string {
	var all []string
	for range p.Local {
		all = append(all, "shared-memory")
	}
	if p.Recorded {
		all = append(all, "recorder")
	}
	switch {
	case len(p.Watchers) > 0:
	case p.watched():
		all = append(all, "?")
	case len(all) == 0:
		return "-"
	}
	return strings.Join(append(all, words(p.Watchers)...), ",")
}

// words returns watchers as words.
func words(watchers []watch.Watcher) (all []string) {
	for _, w := range watchers {
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
	return all
}
