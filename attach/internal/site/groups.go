package site

import (
	"context"
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach/internal/link"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/plan"
	"github.com/go-usdt/usdt/attach/internal/process"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/reader"
)

// Group is a group for links, with its sites.
type Group struct {
	link.Group
	sites  []groupSite
	object *operand.Object
	kernel link.Kind // if its sites are in the kernel
}

// attachSites attaches the group and notes the result at each site. It returns
// the links even with an error, which concerns the whole group.
func (g *Group) attachSites(ctx context.Context, kind link.Kind) ([]link.Link, error) {
	g.Sites = make([]link.Site, len(g.sites))
	for i, s := range g.sites {
		g.Sites[i] = link.Site{Offset: s.Offset, RefCtrOffset: s.Probe.SemaphoreOffset, Cookie: s.cookie, Opcode: s.opcode}
		if g.Kernel {
			g.Sites[i].Probe = &s.Probe
		}
	}
	if g.Kernel {
		kind = g.kernel
	}
	links, refused, err := g.Attach(ctx, kind)
	for i, s := range g.sites {
		s.Attached, s.Reason = refused[i] == nil, refused[i]
		if far, ok := s.Reason.(*link.FarError); ok {
			s.Reason = fmt.Errorf("%w: %w", far, plan.ErrSilent)
		}
		if s.end != nil {
			s.end.Attached, s.end.Reason = s.Attached, s.Reason
		}
	}
	return links, err
}

// groupSite is a site of a group, and what programs get as its cookie.
type groupSite struct {
	*Site
	cookie uint64
	end    *Site // where the program also runs, if that is for calls: at the return
}

// Groups collects sites that can share a link.
type Groups struct {
	Objects operand.Objects // that were planned for
	Procs   *process.Set    // that the sites are restricted to
	Session bool            // of the programs, see [link.Group]
	// Kernel returns the kind of the link to a site of the kernel, and Unpatched is that of [link.Functions].
	Kernel    func(*reader.Probe) link.Kind
	Unpatched func() []uint32

	All   []*Group
	byKey map[groupKey]*Group
	key   groupKey // of the last site
	last  *Group   // which has it
}

type groupKey struct {
	path string
	file procfs.ID // a site that waits for the path to be mapped stays when another is left
	pid  int
	kind reader.ProbeKind
	ret  bool // see reader.Probe.AtRET
	prog *ebpf.Program
}

// Add adds a site, to which the program is to be attached with a cookie.
func (g *Groups) Add(s *Site, prog *ebpf.Program, cookie uint64) { g.add(s, nil, prog, cookie) }

// AddCall adds the entry of a function and its return, to which a program for calls is to be attached.
func (g *Groups) AddCall(entry, end *Site, prog *ebpf.Program, cookie uint64) {
	g.add(entry, end, prog, cookie)
}

func (g *Groups) add(s, end *Site, prog *ebpf.Program, cookie uint64) {
	if g.byKey == nil {
		g.byKey = map[groupKey]*Group{}
	}
	pid := s.PID
	if s.Shared {
		pid = 0
	}
	key := groupKey{s.Path, s.file, pid, s.Probe.Kind, s.Probe.AtRET, prog}
	gr := g.last
	if gr == nil || key != g.key {
		gr = g.byKey[key]
	}
	if gr == nil {
		gr = &Group{Group: link.Group{
			Path: s.Path, Open: s.Path, File: s.file, PID: pid, Ended: func() bool { return g.Procs.Ended(pid) },
			Returns: s.Probe.Kind.IsReturn() && !s.Probe.AtRET, Session: g.Session || end != nil, Prog: prog,
		}}
		if obj := g.Objects[s.Path]; obj != nil {
			gr.Open, gr.object = obj.Path(), obj
		}
		g.byKey[key] = gr
		g.All = append(g.All, gr)
	}
	g.key, g.last = key, gr
	if s.Probe.Kind.InKernel() && !gr.Kernel {
		gr.Kernel, gr.kernel, gr.Path = true, g.Kernel(&s.Probe), "the kernel"
		if gr.kernel == link.TrampolineMany {
			gr.Unpatched = g.Unpatched
		}
	}
	gr.sites = append(gr.sites, groupSite{s, cookie, end})
}
