package remark

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/command"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/internal/procfs"
)

// NewSites reports the sites that are attached to while sdttrace runs.
type NewSites struct {
	stderr  io.Writer
	held    *command.Command // nil if there is none
	verbose bool
	stop    chan struct{}
	done    sync.WaitGroup

	mu   sync.Mutex
	news attach.Plan // sites that have yet to be reported

	suspects int           // sites of a held command that may be late
	delay    time.Duration // by how much
	since    time.Time     // when they appeared; zero without suspects

	copied bool // whether the command runs a copy of its code
}

// announceEvery is the interval between reports.
const announceEvery = 100 * time.Millisecond

// WatchSites reports on stderr, soon after it happens, which sites are
// attached to beside the first known ones. held is the command, if there is one. It ends with the
// session, after which Finish is called.
func WatchSites(s session.Session, stderr io.Writer, known int, held *command.Command, verbose bool) *NewSites {
	l := &NewSites{stderr: stderr, held: held, verbose: verbose, stop: make(chan struct{})}
	l.done.Go(func() {
		for site, left := range s.Sites(context.Background()) {
			if left {
				continue
			}
			if known--; known < 0 {
				l.mu.Lock()
				l.news = append(l.news, site)
				l.mu.Unlock()
			}
		}
	})
	l.done.Go(func() {
		tick := time.NewTicker(announceEvery)
		defer tick.Stop()
		for {
			select {
			case <-l.stop:
				return
			case <-tick.C:
				l.announce()
			}
		}
	})
	return l
}

func (l *NewSites) announce() {
	l.acquit(announceEvery)
	l.announceCopied()
	l.mu.Lock()
	more := l.news
	l.news = nil
	l.mu.Unlock()
	if len(more) == 0 {
		return
	}
	delay, n := time.Duration(0), 0
	for i := range more {
		if delay = max(delay, more[i].Late); more[i].Late > 0 {
			n++
		}
	}
	if l.held != nil && n > 0 {
		if l.since.IsZero() {
			l.since = time.Now().Add(-delay - announceEvery)
		}
		l.suspects, l.delay = l.suspects+n, max(l.delay, delay)
		delay = 0
	}
	fmt.Fprintf(l.stderr, "sdttrace: attached to %d of %s that appeared meanwhile%s\n", more.Attached(), printable.Many(len(more), "site", "sites"), command.Lateness(delay))
	sites(l.stderr, more, l.verbose)
}

// announceCopied reports once that the command runs a copy of its code.
func (l *NewSites) announceCopied() {
	if l.held == nil || l.copied || !l.held.Running() {
		return
	}
	if path := procfs.Copied(l.held.PID()); path != "" {
		l.copied = true
		printCopied(l.stderr, l.held.PID(), 0, path)
	}
}

// acquit reports which sites of a held command were late, once that is certain. A
// site found by chance before the dynamic linker, or a provider, was ready is not
// late: the command is held soon after, unless others have the CPU for longer.
func (l *NewSites) acquit(after time.Duration) {
	if l.since.IsZero() || time.Since(l.since) < l.delay+20*after {
		return
	}
	if l.held.LastHeld().Before(l.since) {
		fmt.Fprintf(l.stderr, "sdttrace: %d of them%s\n", l.suspects, command.Lateness(l.delay))
	}
	l.suspects, l.delay, l.since = 0, 0, time.Time{}
}

// Finish reports the rest, and ends the reports.
func (l *NewSites) Finish() {
	close(l.stop)
	l.done.Wait()
	l.announce()
	l.acquit(0)
}
