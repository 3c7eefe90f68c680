package attach

import (
	"slices"
	"time"

	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/link"
	"github.com/go-usdt/usdt/attach/internal/plan"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/reader"
)

// Site is what was decided and done about one probe site.
type Site struct {
	Probe reader.Probe
	// PID is the process that the attachment is restricted to, 0 for none.
	PID int
	// Path and Offset are where the uprobe was put, or would have been.
	Path   string
	Offset uint64
	// Attached says that the site fires whenever a process runs it.
	Attached bool
	// Reason is why the site was refused, nil if it was not.
	Reason error
	// ArgErrs say which arguments programs of a [Collection] cannot read. Each is an
	// [*ArgError].
	ArgErrs []error
	// Late is the longest time for which a site that [Options.Rescan] found may
	// have fired before it was attached to; 0 if it cannot have fired.
	Late time.Duration
	// Notes are remarks on how the site was chosen and on what to expect of it.
	Notes []string

	file    procfs.ID // by whose end the site is left; zero if it stays
	order   int       // among all sites of an attachment
	shared  bool      // PID is one of several for which there is one link
	carrier carrier   // of a latency's starts and ends
	opcode  string    // of a function's first instruction, its prefixes included
}

// Plan lists every probe site that a selector named.
type Plan []Site

// clone returns a copy that can be handed out. What probes point to stays shared:
// it does not change.
func (p Plan) clone() Plan {
	out := slices.Clone(p)
	for i := range out {
		out[i].Notes = slices.Clone(out[i].Notes)
		out[i].ArgErrs = slices.Clone(out[i].ArgErrs)
	}
	return out
}

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

// planOf returns the sites that were found, about which nothing was decided yet.
func planOf(found discover.Sites) Plan {
	n := found.Len()
	if n == 0 {
		return nil
	}
	plan := make(Plan, 0, n)
	for s := range found.All() {
		plan = append(plan, Site{Probe: s.Probe, PID: s.PID, file: s.File})
	}
	return plan
}

// newPlanner returns what decides about sites. Its Objects are to be closed.
func newPlanner(force bool) *plan.Planner { return plan.New(force, link.Refuses) }

// decide decides about the site, of which Probe and PID are set.
func (s *Site) decide(planner *plan.Planner) {
	d := planner.Plan(&s.Probe, s.PID)
	s.Path, s.Offset, s.Reason, s.Notes, s.opcode = d.Path, d.Offset, d.Reason, d.Notes, d.Opcode
}

// owner returns what the site is left with.
func (s *Site) owner() discover.Owner {
	if s.shared {
		return discover.Owner{File: s.file}
	}
	return discover.Owner{File: s.file, PID: s.PID}
}
