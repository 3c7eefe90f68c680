package discover

import (
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/go-usdt/usdt/attach/internal/maplog"
	"github.com/go-usdt/usdt/internal/sys"
)

// scanShare and newsShare bound the processor time spent on scans: each second of it is followed by
// this many seconds without. Where the kernel reports what processes map, scans find little else.
const (
	scanShare = 20
	newsShare = 200
)

// pace says when to scan.
type pace struct {
	every time.Duration
	share time.Duration
	owed  int // scans that must come to their end soon, since the kernel has lost reports
}

// lost notes lost reports. A scan that is halfway may have looked at a process before it changed.
func (p *pace) lost(halfway bool) {
	p.owed = 1
	if halfway {
		p.owed = 2
	}
}

// next returns how long to wait after a scan that took so long, and left something or not.
func (p *pace) next(took time.Duration, left bool) time.Duration {
	if !left && p.owed > 0 {
		p.owed--
	}
	switch {
	case p.owed > 0:
		return min(p.every, p.share*took)
	case left:
		return p.every
	}
	return max(p.every, p.share*took)
}

// Look is what looks for sites: [Search.More], or a part of it.
type Look func(context.Context) (Sites, error)

// Listen has Follow notice what processes map, if the kernel reports that to this process.
// Scans find the rest.
func (d *Search) Listen() { d.news, _ = maplog.OpenNews(d.procs.PIDs, d.Exe != "") }

// Follow calls scan at intervals until ctx is done and, after Listen, soon after a process has
// mapped code of a file for the first time. It then calls the function that scan returns, whose
// time does not count: attaching is waiting for the kernel.
//
// look looks at these processes only, or at all; since is when the first of them mapped something,
// or zero. A scan of all ends early when there are such processes, and goes on afterwards.
func (d *Search) Follow(ctx context.Context, every time.Duration, scan func(look Look, since time.Time) (then func())) {
	p, some, urgent := pace{every: every, share: scanShare}, (<-chan struct{})(nil), func() bool { return false }
	if news := d.news; news != nil {
		defer news.Close()
		p.share, some, urgent = newsShare, news.C, func() bool { return len(news.C) > 0 }
	}
	all := func(ctx context.Context) (Sites, error) { return d.some(ctx, urgent) }
	timer := time.NewTimer(every)
	defer timer.Stop()
	left := false // whether the last scan of all ended early; others may use d between scans
	for {
		select {
		case <-ctx.Done():
			return
		case <-some:
			mappers, lost := d.news.Take()
			if len(mappers) > 0 {
				scan(func(ctx context.Context) (Sites, error) { return d.of(ctx, mappers) }, mappers[0].Since)()
			}
			if lost {
				p.lost(left)
			}
			if p.owed == 0 {
				continue
			}
		case <-timer.C:
		}
		// A scan that waits, for a lock or because others have the processors, costs nobody anything.
		// Only this goroutine may use the thread meanwhile. After reports it need not: to wake a goroutine
		// that has a thread of its own takes more than a look does.
		runtime.LockOSThread()
		start := sys.ThreadTime()
		then := scan(all, time.Time{})
		took := sys.ThreadTime() - start
		runtime.UnlockOSThread()
		left = d.Halfway()
		then()
		timer.Reset(p.next(took, left))
	}
}

// of is More for processes that have mapped files, and for the files, if they have ended since.
func (d *Search) of(ctx context.Context, mappers []maplog.Mapper) (Sites, error) {
	d.begin(ctx)
	defer d.inodes.Close()
	var members []int
	if d.Members != nil {
		var err error
		if members, err = d.Members(); err != nil {
			return nil, err
		}
	}
	for i := range mappers {
		pid := mappers[i].PID
		switch {
		case d.interrupted(), d.Members != nil && !slices.Contains(members, pid):
		case len(d.procs.PIDs) > 0:
			d.held(pid)
		case d.others(&mappers[i]):
		case !d.mappedBy(latest.since(pid, mappers[i].Until)):
			for _, path := range mappers[i].Paths {
				if d.mayMatch(path) {
					d.unmapped(path)
				}
			}
		}
	}
	return d.found, context.Cause(ctx)
}
