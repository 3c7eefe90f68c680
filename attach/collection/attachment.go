package collection

import (
	"context"
	"iter"

	"github.com/cilium/ebpf/link"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/attach/internal/site"
)

// Attachment is a program attached to sites, see [attach.Attachment].
type Attachment struct{ attached *site.Attachment }

// Plan returns what was decided and done for every site until now, see
// [attach.Attachment.Plan].
func (a *Attachment) Plan() (plan attach.Plan) {
	a.attached.LookAt(0, func(sites site.Plan) { plan = handOut(sites) })
	return plan
}

// Sites yields sites as they are attached to, refused and left, see [attach.Attachment.Sites].
func (a *Attachment) Sites(ctx context.Context) iter.Seq2[attach.Site, bool] {
	return func(yield func(attach.Site, bool) bool) {
		a.attached.Changes(ctx, func(r site.Report, left bool) bool { return yield(attach.Site(r), left) })
	}
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

// Links returns the kernel's links, see [attach.Attachment.Links].
func (a *Attachment) Links() ([]link.Link, error) { return a.attached.Links() }

// Pin has the kernel keep what is attached, see [attach.Attachment.Pin]. [attach.Adopt] opens it.
func (a *Attachment) Pin(dir string) error { return a.attached.Pin(dir) }

// Unpin undoes Pin, see [attach.Attachment.Unpin].
func (a *Attachment) Unpin() error { return a.attached.Unpin() }

// handOut returns a copy of a plan, which later calls do not change.
func handOut(plan site.Plan) attach.Plan {
	return site.Snapshots(plan, func(r site.Report) attach.Site { return attach.Site(r) })
}
