package attach

import (
	"time"

	"github.com/go-usdt/usdt/attach/internal/link"
	"github.com/go-usdt/usdt/attach/internal/plan"
	"github.com/go-usdt/usdt/attach/internal/site"
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
	// Reason says why the site was refused; nil if it was not.
	Reason error
	// ArgErrs says which arguments programs compiled from C cannot read. Each
	// error is a *collection.ArgError.
	ArgErrs []error
	// Late is how long a site that [Options.Rescan] found may have fired before
	// it was attached to, at most; 0 if it cannot have fired.
	Late time.Duration
	// Notes are remarks on how the site was chosen and on what to expect of it.
	Notes []string
	// Local says that events of the site come through memory that the process shares
	// with this one, see [ViaLocal].
	Local bool
	// Uncomputed says what an [Aggregate] or a [Latency] cannot compute of the events of the
	// site, which it counts all the same: an argument has another form there, or none that
	// can be read.
	Uncomputed []error
}

// Plan lists every probe site that a selector named.
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

// handOut returns a copy of a plan, which later calls do not change.
func handOut(plan site.Plan) Plan {
	return site.Snapshots(plan, func(r site.Report) Site { return Site(r) })
}

// newPlanner returns a planner. The caller closes its Objects.
func newPlanner(force bool) *plan.Planner { return plan.New(force, link.Refuses) }
