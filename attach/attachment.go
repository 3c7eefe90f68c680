package attach

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/cilium/ebpf/link"
	"golang.org/x/sync/errgroup"

	"github.com/go-usdt/usdt/attach/internal/site"
)

// Attachment is one or more programs attached to probe sites.
type Attachment struct{ attached *site.Attachment }

// Plan returns what was decided and done for every site until now. It omits sites
// of files that have no name any more and that no traced process has mapped. The
// plan is a copy, which later calls do not change.
func (a *Attachment) Plan() (plan Plan) {
	a.attached.LookAt(0, func(sites site.Plan) { plan = handOut(sites) })
	return plan
}

// Sites yields each site when it is attached to or refused, beginning with the ones that already
// are, and again, with true, when it is left: its file has no name any more, and no traced process
// has mapped it. It waits for the next one, and ends when ctx is done or once all is detached.
func (a *Attachment) Sites(ctx context.Context) iter.Seq2[Site, bool] {
	return func(yield func(Site, bool) bool) {
		a.attached.Changes(ctx, func(r site.Report, left bool) bool { return yield(Site(r), left) })
	}
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

// Links returns the kernel's links, one for each file and process of uprobe_multi, one for each
// site of perf events, to be looked at or pinned. Each has a descriptor of its own, which the caller
// closes: until then its sites stay attached. The kernel replaces the program of neither kind.
func (a *Attachment) Links() ([]link.Link, error) { return a.attached.Links() }

// Pin has the kernel keep the attachment after Close and after the end of this process, however
// it ends, until [Attachment.Unpin]: it pins the links in a directory of a BPF file system. Links hold
// their programs, these their maps, and the kernel their semaphores. The caller pins
// its own maps, see [ebpf.Map.Pin]. Records wait in a ring that has room for them, and so nothing
// is lost between a process and the next one, which calls [Adopt].
//
// Sessions have no Pin: only the process that has generated their programs knows what the records of
// each site hold, names their stacks and finds new sites. A file that a [Recorder] has written can be
// read whatever becomes of that process.
//
// Pin is an error where this process keeps count of semaphores in the kernel's place, for files
// whose segments share pages.
func (a *Attachment) Pin(dir string) error { return a.attached.Pin(dir) }

// Unpin undoes Pin, also after Close. The attachment goes on until both are called.
func (a *Attachment) Unpin() error { return a.attached.Unpin() }

// Adopt opens what [Attachment.Pin] has left in a directory. Its plan has what the kernel knows:
// the files, offsets and processes of sites, since Linux 6.8, and no names of probes. If a process
// ended before Pin did, Adopt returns an error, and Pin may be called for the directory again.
func Adopt(dir string) (*Attachment, error) {
	a, err := site.Pinned(dir)
	if err != nil {
		return nil, err
	}
	return &Attachment{a}, nil
}

// CloseAll closes attachments, sessions, collections or whatever else a tool has many of, all at a
// time, and joins their errors. Each Close waits some 50 ms until no CPU runs the program: 258
// attachments took 15.6 s one after the other, and 0.45 s by CloseAll.
func CloseAll[C io.Closer](all ...C) error {
	errs := make([]error, len(all))
	var eg errgroup.Group
	eg.SetLimit(maxClosing)
	for i, c := range all {
		eg.Go(func() error {
			errs[i] = c.Close()
			return nil
		})
	}
	eg.Wait()
	return errors.Join(errs...)
}

// maxClosing is how many are closed at a time: each takes a thread.
const maxClosing = 256
