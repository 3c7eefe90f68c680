package site

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/plan"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/tracefile"
	"github.com/go-usdt/usdt/reader"
)

// Report is what callers get to know about a site. The fields match
// attach.Site, where they are explained.
type Report struct {
	Probe    reader.Probe
	PID      int
	Path     string
	Offset   uint64
	Attached bool
	Reason   error
	ArgErrs  []error
	Late     time.Duration
	Notes    []string
	Local    bool

	Uncomputed []error
}

// Site is a probe site: what was decided and done about it, and what attaching
// needs.
type Site struct {
	Report

	Shared  bool    // PID is one of several processes that one link serves
	Carrier Carrier // of a latency's starts and ends
	Recorded

	file   procfs.ID // the file with which the site ends; zero if the site stays
	order  int       // among all sites of an attachment
	opcode string    // of a function's first instruction, its prefixes included
}

// Recorded says what a flight recorder, or a file of a tracing, has of a site's events.
type Recorded struct {
	Kept  bool                 // otherwise the following is zero
	Limit int                  // bytes of each string
	Saved *tracefile.SavedSite // nil of flight recorders
}

// File returns the file that a search in all processes has found the site in.
func (s *Site) File() procfs.ID { return s.file }

// Snapshot returns a copy of the site's Report. It shares the memory that the
// probe points to, which does not change.
func (s *Site) Snapshot() Report {
	r := s.Report
	r.Notes, r.ArgErrs, r.Uncomputed = slices.Clone(r.Notes), slices.Clone(r.ArgErrs), slices.Clone(r.Uncomputed)
	return r
}

// Snapshots returns what callers get to know about the sites of a plan: copies, which later calls do
// not change.
func Snapshots[S any](plan Plan, of func(Report) S) []S {
	if plan == nil {
		return nil
	}
	out := make([]S, len(plan))
	for i := range plan {
		out[i] = of(plan[i].Snapshot())
	}
	return out
}

// Plan lists sites.
type Plan []Site

// Attached returns the number of sites that can fire.
func (p Plan) Attached() int {
	n := 0
	for i := range p {
		if p[i].Attached {
			n++
		}
	}
	return n
}

// PlanOf returns a plan of the sites that were found, before anything is decided.
func PlanOf(found discover.Sites) Plan {
	n := found.Len()
	if n == 0 {
		return nil
	}
	plan := make(Plan, 0, n)
	for s := range found.All() {
		plan = append(plan, Site{Report: Report{Probe: s.Probe, PID: s.PID}, file: s.File})
	}
	return plan
}

// AtReturns puts the probes at return instructions that the planner names in place of return
// probes. It is called before sites are decided about.
func (p Plan) AtReturns(planner *plan.Planner) Plan {
	var out Plan // what becomes of p[:behind]
	behind := 0
	for i := range p {
		s := &p[i]
		if !(s.Probe.Kind.InFile() && s.Probe.Kind.IsReturn()) || s.Local || s.Reason != nil {
			continue
		}
		probes := planner.Returns(&s.Probe, s.PID)
		if len(probes) == 0 {
			continue
		}
		out = append(out, p[behind:i]...)
		behind = i + 1
		for _, probe := range probes {
			out = append(out, *s)
			out[len(out)-1].Probe = probe
		}
	}
	if behind == 0 {
		return p
	}
	return append(out, p[behind:]...)
}

// Decide decides about all sites, except local and refused ones. When ctx is done, it ends with
// the cause.
func (p Plan) Decide(ctx context.Context, planner *plan.Planner) error {
	for i := range p {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if s := &p[i]; !s.Local && s.Reason == nil {
			s.Decide(planner)
		}
	}
	return nil
}

// Decide decides about the site, whose Probe and PID are set.
func (s *Site) Decide(planner *plan.Planner) {
	d := planner.Plan(&s.Probe, s.PID)
	s.Path, s.Offset, s.Reason, s.Notes, s.opcode = d.Path, d.Offset, d.Reason, d.Notes, d.Opcode
}

// Owner returns the owner with which the site ends.
func (s *Site) Owner() discover.Owner {
	if s.Shared {
		return discover.Owner{File: s.file}
	}
	return discover.Owner{File: s.file, PID: s.PID}
}

// Process returns the only process that fires at the site, 0 if there may be several.
// Only one fires if the site is attached to in one process, or its file has no name.
func (s *Site) Process() int {
	if s.PID != 0 {
		return s.PID
	}
	rest, ok := strings.CutPrefix(s.Probe.OpenPath, "/proc/")
	number, rest, _ := strings.Cut(rest, "/")
	unnamed, _ := path.Match("map_files/*", rest)
	descriptor, _ := path.Match("fd/*", rest)
	pid, err := strconv.Atoi(number)
	if !ok || err != nil || !unnamed && !descriptor {
		return 0
	}
	return pid
}
