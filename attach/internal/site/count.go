package site

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/link"
	"github.com/go-usdt/usdt/attach/internal/plan"
	"github.com/go-usdt/usdt/attach/internal/semaphore"
	"github.com/go-usdt/usdt/internal/privilege"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/reader"
)

// miscounted reports whether the kernel miscounts in processes that start from now on.
func (s *Site) miscounted() bool { return errors.Is(s.Probe.SemaphoreErr, reader.ErrMiscounted) }

// counts keeps count of semaphores where the kernel does not: see package semaphore.
// Its links must be there before breakpoints are, and until all are gone.
type counts struct {
	keepers []*semaphore.Keeper
	links   []link.Link
}

// counted are the sites of a file for which one program keeps count.
type counted struct {
	*Group     // one that has some of them
	offsets    map[uint64]bool
	sites      []*Site
	miscounted bool // by the kernel, whatever a process maps
}

// countedIn returns the sites with semaphores, by the file and the process.
func countedIn(groups []*Group) (all []*counted) {
	type place struct {
		open string
		file procfs.ID
		pid  int
	}
	at := map[place]*counted{}
	for _, g := range groups {
		for _, s := range g.sites {
			if s.Probe.SemaphoreOffset == 0 || g.object == nil {
				continue
			}
			in := place{g.Open, g.File, g.PID}
			c := at[in]
			if c == nil {
				c = &counted{Group: g, offsets: map[uint64]bool{}}
				at[in] = c
				all = append(all, c)
			}
			c.offsets[s.Probe.SemaphoreOffset] = true
			c.sites = append(c.sites, s.Site)
			c.miscounted = c.miscounted || s.miscounted()
		}
	}
	return all
}

// count begins to keep count of the groups' semaphores. Miscounted sites whose count
// cannot be kept are left out of the groups, unless the group is one process's, which
// may have started. look, to be called when breakpoints are there, looks for libraries
// that processes have mapped more than once.
func count(ctx context.Context, groups []*Group, kind link.Kind) (c counts, look func()) {
	var keeper *semaphore.Keeper
	libraries := map[*semaphore.File]int{}
	for _, of := range countedIn(groups) {
		f, err := semaphore.Read(of.object, of.offsets, of.miscounted)
		if err == nil && f == nil {
			continue
		}
		if err == nil && keeper == nil {
			if keeper, err = semaphore.NewKeeper(); err == nil {
				c.keepers = append(c.keepers, keeper)
			}
		}
		if err == nil {
			var links []link.Link
			links, err = of.attach(ctx, keeper, f, kind)
			c.links = append(c.links, links...)
		}
		if err == nil && f.Library {
			libraries[f] = of.PID
		}
		if err != nil && of.miscounted {
			of.leave(err)
		}
	}
	return c, func() {
		if len(libraries) > 0 {
			keeper.Look(libraries)
		}
	}
}

// attach attaches the program that keeps count.
func (c *counted) attach(ctx context.Context, keeper *semaphore.Keeper, f *semaphore.File, kind link.Kind) ([]link.Link, error) {
	prog, err := keeper.Load(f, kind.ProgramType(), kind.AttachType())
	if err != nil {
		return nil, privilege.Explain("load the program that keeps count", err)
	}
	defer prog.Close() // links hold it
	g := link.Group{Path: c.Path, Open: c.Open, File: c.File, PID: c.PID, Ended: c.Ended, Prog: prog}
	for _, s := range f.Starts {
		g.Sites = append(g.Sites, link.Site{Offset: s.Offset, Cookie: s.Address})
	}
	links, refused, err := g.Attach(ctx, kind)
	if err == nil && len(links) == 0 {
		err = errors.Join(refused...)
	}
	return links, err
}

// leave says at the sites that their count cannot be kept, and leaves them out.
func (c *counted) leave(err error) {
	for _, s := range c.sites {
		switch {
		case !s.miscounted():
		case c.PID != 0:
			s.Notes = append(s.Notes, fmt.Sprintf("%v, and %v: it may be silent in what process %d executes or loads from now on", s.Probe.SemaphoreErr, err, c.PID))
		default:
			s.Reason = fmt.Errorf("%w, and %w: %w, except in a process that runs already and is named by its PID", s.Probe.SemaphoreErr, err, plan.ErrSilent)
		}
	}
}

// remaining returns the groups without sites that have been refused.
func remaining(groups []*Group) []*Group {
	left := groups[:0]
	for _, g := range groups {
		kept := g.sites[:0]
		for _, s := range g.sites {
			if s.Reason == nil {
				kept = append(kept, s)
			}
		}
		if g.sites = kept; len(kept) > 0 {
			left = append(left, g)
		}
	}
	return left
}

// adopt takes over what keeps count of more sites.
func (c *counts) adopt(more counts) {
	c.keepers, c.links = append(c.keepers, more.keepers...), append(c.links, more.links...)
}

// settle counts anew what processes have mapped more than once.
func (c *counts) settle() {
	for _, k := range c.keepers {
		k.Settle()
	}
}

// retire returns the links of owners that have ended.
func (c *counts) retire(ended map[discover.Owner]bool) (gone []link.Link) {
	c.links, gone = split(c.links, ended)
	return gone
}

// close ends the counting, when breakpoints are gone.
func (c *counts) close() error {
	c.settle()
	err := closeLinks(c.links)
	for _, k := range c.keepers {
		k.Close()
	}
	c.links = nil
	return err
}

func closeLinks(links []link.Link) error {
	var eg errgroup.Group
	eg.SetLimit(waiters)
	if len(links) > 0 {
		if _, slow := links[0].Rest(); slow {
			eg.SetLimit(closers)
		}
	}
	for _, l := range links {
		eg.Go(l.Close)
	}
	return eg.Wait()
}

// Silent returns how many processes went on before their semaphores were raised: they
// may have left out events.
func (a *Attachment) Silent() (n uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, k := range a.counts.keepers {
		n += k.Late()
	}
	return n
}
