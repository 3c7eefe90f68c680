// Package topsource is where sdttrace top gets its rows, and what it shows of one probe: it traces.
package topsource

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/cgroup"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/format"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/internal/top"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/prototype"
	"github.com/go-usdt/usdt/reader"
)

// Source is what sdttrace top shows: an aggregate by probe and pid.
type Source struct {
	Aggregate  session.Aggregate
	Selectors  []string
	Group      *cgroup.Group // nil for all processes
	User       bool          // without privileges
	Prototypes *prototype.Table
	// Options are the options of a session beside the aggregate.
	Options func() (*attach.Options, error)

	mu     sync.Mutex // of what follows
	plan   attach.Plan
	comms  map[int]string
	before map[int]string // comms of the interval before
}

// Read returns what fired since the last call.
// None says why there may be no probe; empty if nothing does. all are the selectors of whoever names none.
func (s *Source) None(all []string) string {
	if s.Aggregate.Via() == attach.ViaLocal && !s.User {
		return "without privileges, only Go services that run with USDT_LOCAL=1 are seen; other programs take root, or CAP_BPF and CAP_PERFMON"
	}
	if errs := s.Aggregate.NoMatch(); len(errs) > 0 && !slices.Equal(s.Selectors, all) {
		return errs[0].Error()
	}
	return ""
}

func (s *Source) Read() (r top.Reading, err error) {
	select {
	case <-s.Aggregate.Done():
		r.Ended = true
	default:
	}
	groups, err := s.Aggregate.Read()
	if err != nil {
		return r, err
	}
	if s.Group != nil {
		if groups = s.Group.Selects(groups); s.Group.Missed > 0 {
			r.Remark = printable.Many(s.Group.Missed, "event is", "events are") + " of processes that ended before their control group could be read"
		}
	}
	stats, err := s.Aggregate.Stats()
	if err != nil {
		return r, err
	}
	r.Lost = stats.Lost + stats.Missed
	plan := s.Aggregate.Plan()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !r.Ended || s.plan == nil {
		s.plan = plan // it is that of live processes
	}
	seen := map[string]bool{}
	for i := range s.plan {
		site := &s.plan[i]
		switch {
		case site.Attached:
			r.Sites++
			if name := nameOf(&site.Probe); !seen[name] {
				seen[name] = true
				r.Probes = append(r.Probes, name)
			}
		case site.Reason != nil:
			if r.Refused++; r.Refused == 1 {
				r.Reason = fmt.Sprintf("%s: %v", nameOf(&site.Probe), site.Reason)
			}
		}
	}
	if s.Aggregate.Via() == attach.ViaLocal && !s.User {
		r.Remark = "without privileges: only Go services that offer their probes"
	}
	s.before, s.comms = s.comms, map[int]string{}
	for i := range groups {
		g := &groups[i]
		probe, _ := g.By[0].Value.(string)
		pid := cgroup.PIDOf(g)
		r.Counts = append(r.Counts, top.Count{Probe: probe, PID: pid, Comm: s.comm(pid), N: g.Count})
	}
	return r, nil
}

// nameOf returns the name of a probe in groups.
func nameOf(p *reader.Probe) string { return format.KindPrefix(p) + p.Provider + ":" + p.Name }

// comm returns the name of a process, which it may have changed since the interval
// before: only that of one that has ended is remembered.
func (s *Source) comm(pid int) string {
	name, ok := s.comms[pid]
	if !ok {
		name = s.before[pid]
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err == nil {
			name = strings.TrimSuffix(string(text), "\n")
		}
		s.comms[pid] = name
	}
	return name
}

// site returns a site of a probe, nil if there is none any more.
func (s *Source) site(probe string) *attach.Site {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.plan {
		if site := &s.plan[i]; site.Attached && nameOf(&site.Probe) == probe {
			return site
		}
	}
	return nil
}

// Arguments returns the arguments of a probe that are numbers.
func (s *Source) Arguments(probe string) (names []string) {
	site := s.site(probe)
	if site == nil {
		return nil
	}
	p := &site.Probe
	switch {
	case p.Type != nil:
		for i := range p.Type.Fields {
			if f := &p.Type.Fields[i]; f.Kind == reader.Uint || f.Kind == reader.Int || f.Kind == reader.Float {
				names = append(names, f.Name)
			}
		}
		return names
	case p.Kind.InFile() && p.Kind.IsReturn():
		return []string{"retval"}
	case p.Kind.InFile():
		return functionArguments
	}
	known := s.Prototypes.Lookup(p.Provider, p.Name, p.Arguments(), notes.Class(p.Class))
	for i := range p.Arguments() {
		name := fmt.Sprintf("arg%d", i)
		if known != nil && i < len(known.Params) {
			switch k := known.Params[i].Kind; k {
			case prototype.Unsigned, prototype.Signed, prototype.Integer, prototype.Float:
				if known.Params[i].Name != "" {
					name = known.Params[i].Name
				}
			default:
				continue
			}
		}
		names = append(names, name)
	}
	return names
}

// functionArguments are the arguments of functions that every calling convention passes in
// registers.
var functionArguments = []string{"arg0", "arg1", "arg2", "arg3", "arg4", "arg5"}

// selectorsOf returns selectors that select a probe, and no other, as far as selectors of
// the command line do.
func (s *Source) selectorsOf(probe string) (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := map[string]bool{}
	for i := range s.plan {
		p := &s.plan[i].Probe
		if nameOf(p) != probe {
			continue
		}
		for _, text := range s.Selectors {
			if one := selectorOf(text, p); one != "" && !seen[one] {
				seen[one] = true
				out = append(out, one)
			}
		}
	}
	return out
}

// selectorOf returns the part of a selector that selects one probe, "" if it does not
// select it.
func selectorOf(text string, p *reader.Probe) string {
	sel, err := selector.Parse(text)
	if err != nil {
		return ""
	}
	switch {
	case sel.Kind != p.Kind:
		return ""
	case p.Kind.InKernel():
		return selector.Kernel(p.Kind.String(), p.Provider, p.Name)
	case p.Kind.InFile():
		return selector.Function(p.Kind.String(), p.Path, p.Name)
	case !sel.Match(p.Path, p.Provider, p.Name):
		return ""
	}
	one := selector.Probe("", p.Provider, p.Name)
	if sel.Path != "" {
		one = sel.Path + ":" + one
	}
	return one
}
