package naming

import (
	"time"

	"github.com/go-usdt/usdt/attach/internal/maplog"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/symbols"
)

// logged returns what names the code of a process that cannot be read, as the kernel has reported
// it. It returns what was known before if the log knows no more. over says that the process has
// ended: it may also be out of reach. p.mu is locked.
func (c *Code) logged(pid int, p *knownProcess, over bool) *Process {
	old := p.code.Load()
	state := c.log.State(pid)
	var space *symbols.Space
	if known := c.log.Images(pid); len(known) > 0 {
		space = c.spaceOf(&known[0], old, 0)
	}
	if space == nil {
		if old != nil {
			old.known.Changes, old.known.Losses, old.checked = state.Changes, state.Losses, time.Now()
			if over {
				old.over.Store(true)
			}
		}
		return old
	}
	s := c.newProcess(space)
	s.known = state
	s.over.Store(over)
	s.counted.Store(old != nil && old.counted.Load())
	p.code.Store(s)
	return s
}

// maxParents is how many forks away code may come from.
const maxParents = 8

// spaceOf returns what a process had mapped: what the log knows and, of what is older than the
// log, what is known of the process itself or of the one that forked it. It is nil if nothing is
// known of that.
func (c *Code) spaceOf(im *maplog.Image, old *Process, forks int) *symbols.Space {
	if im.Whole {
		return c.resolver.Recorded(im.Modules)
	}
	from := old
	if im.Parent != 0 {
		from = c.known(im.Parent).code.Load()
	}
	var base *symbols.Space
	switch {
	case from != nil && forks <= maxParents:
		base = from.space
	case im.Parent == 0 || forks > maxParents:
	default:
		var err error
		if base, err = c.resolver.Process(im.Parent); err == nil {
			break
		}
		base = nil
		if known := c.log.Images(im.Parent); len(known) > 0 {
			base = c.spaceOf(&known[0], nil, forks+1)
		}
	}
	if base == nil {
		return nil
	}
	return base.With(im.Modules)
}

// before returns what names the code of a process as it was before it executed another file, if
// it had some at pc then; else s.
func (c *Code) before(pid int, s *Process, pc uint64) *Process {
	s.lookBack.Do(func() {
		for i, im := range c.log.Images(pid) {
			if i == 0 {
				continue // that is s
			}
			if space := c.spaceOf(&im, nil, 0); space != nil {
				s.earlier = append(s.earlier, c.newProcess(space))
			}
		}
	})
	for _, e := range s.earlier {
		if e.space.Maps(pc) {
			return e
		}
	}
	return s
}

// ended returns what names the code of a process that has ended before anybody looked at it, and
// was there before anybody asked the kernel. The probe's file is known, with the place where it
// was mapped, since the stack begins there; so are the files that the process mapped later.
func (c *Code) ended(pid int, p *reader.Probe, pcs []uint64) *Process {
	var modules []symbols.Module
	if info, err := procfs.Stat(p.Path); err == nil && len(pcs) > 0 && p.Type == nil && (!p.Kind.IsReturn() || p.AtRET) {
		start := pcs[0] - p.Offset
		modules = []symbols.Module{{Path: p.Path, BuildID: p.BuildID, Start: start, End: start + uint64(info.Size())}}
	}
	space := c.resolver.Recorded(modules)
	if known := c.log.Images(pid); len(known) > 0 {
		space = space.With(known[0].Modules)
	}
	s := c.newProcess(space)
	state := c.log.State(pid)
	s.known.Changes, s.known.Losses = state.Changes, state.Losses
	started, err := procfs.StartTime(pid)
	s.over.Store(missing(err) || err == nil && gone(pid, started))
	at := c.known(pid)
	at.mu.Lock()
	defer at.mu.Unlock()
	at.code.Store(s)
	return s
}
