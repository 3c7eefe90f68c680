package attach

import (
	"context"

	"github.com/go-usdt/usdt/attach/internal/site"
)

// Attachment is one or more programs attached to probe sites.
type Attachment struct{ attached *site.Attachment }

// Plan returns what was decided and done for every site until now. It omits sites
// of files that have no name any more and that no traced process has mapped. The
// plan is a copy, which later calls do not change.
func (a *Attachment) Plan() Plan {
	plan, _ := a.PlanSince(0)
	return plan
}

// PlanSince returns what Plan returns, without the first n sites ever found, and
// the number of sites found until now, to be passed to the next call.
func (a *Attachment) PlanSince(n int) (plan Plan, known int) {
	known = a.attached.LookAt(n, func(sites site.Plan) { plan = handOut(sites) })
	return plan, known
}

// Close detaches from all sites. When it returns, the programs no longer run, and
// sites and semaphores are as they were before, with one exception: perf events are
// closed in the background, see [Attachment.Wait]. Some kernels, Linux 6.1 among
// them, take 0.1 s for each to detach a program of the caller's own. Later calls
// return the same error.
func (a *Attachment) Close() error { return a.attached.Close() }

// Pending returns the number of perf events that the kernel has yet to remove
// after Close. Until it does, their sites run no program, but are slow and have
// raised semaphores.
func (a *Attachment) Pending() int { return a.attached.Pending() }

// Wait waits after Close until nothing is pending, or until ctx is done. If this
// process exits earlier, the kernel holds it until all perf events are removed.
func (a *Attachment) Wait(ctx context.Context) error { return a.attached.Wait(ctx) }
