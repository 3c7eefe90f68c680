package attach

import (
	"context"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/load"
	"github.com/go-usdt/usdt/attach/internal/local"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/attach/internal/source"
	"github.com/go-usdt/usdt/internal/selector"
)

// side is a way by which events come: from the kernel's programs, from processes that share
// memory, or from files. A tracing has the sides that [Target.Via] names.
type side interface {
	// Fits returns an error if a selector names what does not come this way.
	Fits(*selector.Selector) error
	// Search looks for sites for the first time; usual is how that is done in general.
	Search(ctx context.Context, selectors []selector.Selector, usual func() (*discover.Search, discover.Sites, error)) (*discover.Search, discover.Sites, error)
	// Scan prepares a later search, and reports whether that may find anything. It returns the files
	// whose sites are found anew.
	Scan(*discover.Search) (anew []discover.Owner, any bool, err error)
	// Claim makes the sites that come this way its own, and refuses sites that come no way. again is
	// called for processes whose sites it leaves out, to be found once more; nil if they never are.
	Claim(ctx context.Context, plan site.Plan, again func(pid int)) (site.Plan, error)
	// Watch has events of its sites recorded, which Begun says of all sites of the plan, and Leave
	// ends for the sites of files.
	Watch(ctx context.Context, plan site.Plan, schemas []*bind.Schema, numbers []int)
	Begun()
	Leave(files []discover.Owner)
	// With returns the source of its records and of another source's; other may be nil.
	With(other source.Source) (source.Source, error)
	// Dropped returns how many events it lost.
	Dropped() (uint64, error)
	Close() error
}

// openSides opens the sides that o names.
func (t *tracing) openSides(o *settings) error {
	if o.Target.Via.attaches() {
		t.programs = &programs{tracing: t, loaded: load.Programs{Create: t.create}}
		t.sides = append(t.sides, t.programs)
	}
	tests := t.layout == nil && !o.spanned
	switch o.Target.Via {
	case ViaLocal, ViaBoth:
		only := !o.Target.Via.attaches()
		t.opened = make(chan struct{})
		wanted := &local.Options{
			Only: only, Any: only && len(o.Target.PIDs) == 0, Pairs: o.spanned || t.layout != nil && t.layout.Pairs != nil, Together: t.together(),
			Tests: tests, Sample: o.Sample, Size: o.RingSize, Selects: o.Target.selects, Fail: t.fail, Meet: t.meetProcess, Opened: t.opened,
		}
		if o.Rescan > 0 {
			wanted.Loaded = func() { t.Rescan() }
		}
		processes, err := local.New(wanted)
		if err != nil {
			return err
		}
		t.sides = append(t.sides, processes)
	case ViaRecording:
		files, err := source.OpenRecordings(o.Target.Recordings, tests, o.Sample, t.fail)
		if err != nil {
			return err
		}
		t.sides, t.losses, t.savedStack, t.groups = append(t.sides, files), files.Lost, files.Stack, files.Groups()
		if o.Stack == 0 {
			return nil
		}
		// Groups by stack have sites that say why they lack stacks.
		if lack := files.KeepStacks(); t.layout == nil || !t.layout.Wanted.ByStack() {
			return optionError("Stack", lack)
		}
	}
	return nil
}

// meetProcess looks at the code of a process that records stacks, while it lives.
func (t *tracing) meetProcess(ctx context.Context, pid int) {
	if t.code != nil {
		t.code.Await(ctx, func() { t.code.Process(pid) })
	}
}

// fits returns an error if a selector names what comes no way.
func (t *tracing) fits() error {
	for _, side := range t.sides {
		for i := range t.selectors {
			if err := side.Fits(&t.selectors[i]); err != nil {
				return &SelectorError{t.selectors[i].String(), err}
			}
		}
	}
	return nil
}

// openSource opens the source of what all sides record.
func (t *tracing) openSource() (err error) {
	for _, side := range t.sides {
		if t.source, err = side.With(t.source); err != nil {
			break
		}
	}
	return err
}

// claim has the sides claim their sites of a plan; see side.
func (t *tracing) claim(ctx context.Context, plan site.Plan, again func(pid int)) (_ site.Plan, err error) {
	for _, side := range t.sides {
		if plan, err = side.Claim(ctx, plan, again); err != nil {
			break
		}
	}
	return plan, err
}

// watchSides has events of the sides' sites recorded.
func (t *tracing) watchSides(ctx context.Context, b *batch) {
	for _, side := range t.sides {
		side.Watch(ctx, b.plan, b.schemas, b.numbers)
	}
}

// begunSides says that the events of all sites are recorded.
func (t *tracing) begunSides() {
	for _, side := range t.sides {
		side.Begun()
	}
}

// dropWithdrawn leaves out sites of processes that have withdrawn their offer while they were
// to be watched. The search finds them again.
func (t *tracing) dropWithdrawn(more *site.Attachment) *site.Attachment {
	more.Drop(func(s *site.Site) bool {
		withdrawn := local.Withdrawn(s)
		if withdrawn {
			t.discover.Leave(s.Owner())
		}
		return withdrawn
	})
	return more
}
