package collection

import (
	"context"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/attach/internal/site"
)

// Attachment is a program attached to sites, see [attach.Attachment].
type Attachment struct{ attached *site.Attachment }

// Plan returns what was decided and done for every site until now, see
// [attach.Attachment.Plan].
func (a *Attachment) Plan() attach.Plan {
	plan, _ := a.PlanSince(0)
	return plan
}

// PlanSince is Plan for new sites, see [attach.Attachment.PlanSince].
func (a *Attachment) PlanSince(n int) (plan attach.Plan, known int) {
	known = a.attached.LookAt(n, func(sites site.Plan) { plan = handOut(sites) })
	return plan, known
}

// Close detaches from all sites, see [attach.Attachment.Close]. Later calls return the
// same error.
func (a *Attachment) Close() error { return a.attached.Close() }

// Pending returns the number of perf events that the kernel has yet to remove
// after Close, see [attach.Attachment.Pending].
func (a *Attachment) Pending() int { return a.attached.Pending() }

// Wait waits after Close until nothing is pending, or until ctx is done, see
// [attach.Attachment.Wait].
func (a *Attachment) Wait(ctx context.Context) error { return a.attached.Wait(ctx) }

// handOut returns a copy of a plan, which later calls do not change.
func handOut(plan site.Plan) attach.Plan {
	if plan == nil {
		return nil
	}
	out := make(attach.Plan, len(plan))
	for i := range plan {
		out[i] = attach.Site(plan[i].Snapshot())
	}
	return out
}
