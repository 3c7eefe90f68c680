package attach

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/codegen"
	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/link"
	"github.com/go-usdt/usdt/attach/internal/load"
	"github.com/go-usdt/usdt/attach/internal/nested"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/attach/internal/source"
	"github.com/go-usdt/usdt/internal/kernel"
	"github.com/go-usdt/usdt/internal/privilege"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/reader"
)

// programs is the side of the kernel: the programs of a tracing, which are attached to sites, and
// their maps.
type programs struct {
	*tracing

	maps   *load.Maps // nil until the first sites are known
	loaded load.Programs
	kind   link.Kind
	links  map[reader.ProbeKind]link.Kind // to sites of the kernel, by the kinds that selectors name

	sharing *site.Sharing // of links by processes; nil if they are few
	gated   bool          // the first sites begin at one moment, and all sites end at one
	log     *nested.Log   // names processes in which returns were left out; nil without returns
	// callFunctions are what programs for calls need; zero until there are any.
	callFunctions kernel.CallFunctions
}

// Fits chooses how sites of the kernel are attached to, before they are looked for.
func (p *programs) Fits(s *selector.Selector) error {
	if err := discover.CheckTrampolines(s); err != nil {
		return err
	}
	if _, known := p.links[s.Kind]; known || !s.Kind.InKernel() {
		return nil
	}
	kind, err := link.ChooseKernel(s.Kind, link.Kind(p.options.Link))
	if err != nil {
		return err
	}
	if p.links == nil {
		p.links = map[reader.ProbeKind]link.Kind{}
	}
	p.links[s.Kind] = kind
	return nil
}

func (p *programs) Search(_ context.Context, _ []selector.Selector, usual func() (*discover.Search, discover.Sites, error)) (*discover.Search, discover.Sites, error) {
	return usual()
}

// Scan returns the files whose sites lost the thread that they were attached to.
func (p *programs) Scan(search *discover.Search) (anew []discover.Owner, any bool, err error) {
	if p.sharing == nil {
		anew = p.attached.Stranded(p.kind, p.procs, search)
	}
	return anew, true, p.refresh()
}

// refresh looks up the path of the selected executable again.
func (p *programs) refresh() error {
	if err := p.live.Refresh(); err != nil {
		return err
	}
	if err := p.maps.Selection.Refresh(); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Claim chooses how programs are attached; sites need not be claimed.
func (p *programs) Claim(_ context.Context, plan site.Plan, _ func(pid int)) (site.Plan, error) {
	if p.maps != nil {
		return plan, nil
	}
	return plan, p.choose()
}

// choose decides how programs are attached.
func (p *programs) choose() (err error) {
	o := p.options
	p.sharing = site.NewSharing(p.procs)
	if p.kind, err = link.Choose(link.Kind(o.Link), len(o.Target.only()) > 0 && p.sharing == nil); err != nil {
		return err
	}
	if p.kind.Led() && p.sharing == nil && o.Rescan > 0 {
		p.procs.WatchLeaders()
	}
	return nil
}

// prepare makes the maps for the first sites.
func (p *programs) prepare(b *batch) error {
	err := p.makeMaps(b)
	if err != nil {
		return privilege.Explain("prepare tracing", err)
	}
	return nil
}

func (p *programs) makeMaps(b *batch) (err error) {
	o, layout := p.options, p.layout
	var scratch int
	if err := p.joinCalls(b); err != nil {
		return err
	}
	b.signatures, scratch = p.unknown(b.different())
	if p.maps, err = load.NewMaps(o.RingSize, scratch, o.Ring == nil && (layout == nil || o.recorded || layout.Whole())); err != nil {
		return err
	}
	p.maps.Calls = p.callFunctions
	if o.Ring != nil {
		if p.maps.Ring, err = o.Ring.Clone(); err != nil {
			return &OptionError{"Ring", err}
		}
	}
	switch {
	case o.Then == nil:
	case p.inKernel():
		return &OptionError{"Then", errors.New("it runs at no sites of the kernel, whose programs are of other types")}
	default:
		if err := p.maps.AddThen(o.Then, p.kind.ProgramType(), p.kind.AttachType()); err != nil {
			return &OptionError{"Then", err}
		}
	}
	if layout != nil && bound(b.schemas) {
		if err := p.addGroups(p.maps, layout, b.schemas); err != nil {
			return err
		}
	}
	if err := p.maps.AddSelection(&load.Selecting{Comm: o.Target.Comm, Exe: o.Target.Exe, Cgroup: o.Target.cgroup(), Groups: o.Target.groups(), Await: o.Await}); err != nil {
		if at := (*load.SelectionError)(nil); errors.As(err, &at) {
			err = &OptionError{at.Name, at.Err}
		}
		return err
	}
	if p.live != nil {
		p.maps.ControlGroups = &codegen.Groups{Live: p.live, Tests: p.groupTests}
	}
	if o.condition != nil || layout != nil {
		if err := p.maps.AddFaults(); err != nil {
			return err
		}
	}
	p.gated = p.together() || severalAttached(b)
	if p.gated || p.slow() {
		if p.maps.Stopped, err = load.NewSwitch(p.gated); err != nil {
			return err
		}
	}
	if err := p.addSignals(); err != nil {
		return err
	}
	switch {
	case p.family != nil:
		return p.maps.UseProcesses(p.family.Table)
	case p.sharing != nil || p.inKernel() && len(o.Target.only()) > 0:
		return p.maps.AddProcesses(p.procs)
	}
	return nil
}

// With returns the source of what programs record, or of their counts beside another side's
// records; nil if they add up all there is.
func (p *programs) With(source.Source) (source.Source, error) {
	switch {
	case p.options.Ring != nil:
		return source.NewCounted(p.Counts), nil
	case p.maps.Ring != nil:
		return source.NewBuffer(p.maps.Ring, p.options.Omit.fields(), p.Counts)
	case len(p.sides) > 1:
		return source.NewCounted(p.Counts), nil
	}
	return nil, nil
}

// Counts returns the numbers that programs have counted. p.mu is locked.
func (p *programs) Counts() (st source.Counts, err error) {
	if p.maps == nil {
		return st, nil
	}
	c, err := p.maps.Count()
	if err != nil {
		return st, err
	}
	runs, err := p.loaded.Count()
	if err != nil {
		return st, err
	}
	pairs := p.layout != nil && p.layout.Pairs != nil && !p.options.recorded
	st.Missed = runs.Missed
	if p.inKernel() && p.attached != nil {
		st.Missed += p.attached.Missed()
	}
	st.Fired = c.At(codegen.CounterFired) + st.Missed
	if !pairs {
		st.Fired += c.At(codegen.CounterLost) + c.At(codegen.CounterFiltered) + c.At(codegen.CounterEntered) + c.At(codegen.CounterEntered+8)
	}
	st.Lost = c.At(codegen.CounterLost)
	if p.layout == nil || p.options.recorded {
		st.Full = st.Lost
	}
	st.Filtered = c.At(codegen.CounterFiltered)
	if pairs {
		matched, err := p.maps.Pairs(&c)
		if err != nil {
			return st, err
		}
		p.addPairs(&st, pairStats(&matched))
		full := 2 * c.At(codegen.CounterFull)
		st.Lost, st.Full = st.Lost+full, st.Full+full
	}
	return st, nil
}

// Dropped takes no lock.
func (p *programs) Dropped() (uint64, error) {
	if p.maps == nil {
		return 0, nil
	}
	c, err := p.maps.Count()
	return c.At(codegen.CounterLost) + c.At(codegen.CounterFull), err
}

// Watch does nothing: attach does, once all sides watch.
func (p *programs) Watch(context.Context, site.Plan, []*bind.Schema, []int) {}

// Begun does nothing: the programs of sites that begin together are told by a map.
func (p *programs) Begun() {}

// attach attaches to the first sites.
func (p *programs) attach(ctx context.Context, b *batch) (err error) {
	if len(b.plan) > 0 {
		p.watchReturns(b.plan)
		p.attached, err = site.Attach(ctx, b.plan, p.groups(b), p.kind)
		if err != nil && !(p.options.Await && b.plan.Gone()) {
			return err
		}
		p.sharing.Follow(b.plan, b.followers)
	}
	detach := func() {
		p.attached.Close()
		p.attached.Wait(context.WithoutCancel(ctx))
	}
	if err := p.layout.Half(b.plan); err != nil && p.attached != nil && !p.options.Await {
		detach()
		return err
	}
	if p.attached == nil {
		p.attached = site.Unattached(b.plan)
	}
	if p.gated || p.slow() {
		p.attached.Halt, p.attached.Slow = p.maps.Stop, p.slow()
	}
	if !p.gated {
		return nil
	}
	if err := load.Turn(p.maps.Stopped, 0, 0); err != nil {
		detach()
		return err
	}
	return nil
}

// watchReturns reads the kernel's log from now on, if it can, where the kernel traces returns.
func (p *programs) watchReturns(plan site.Plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range plan {
		if s := &plan[i]; p.log == nil && s.Reason == nil && s.Probe.Kind == reader.Uretprobe && !s.Probe.AtRET {
			p.log, _ = nested.Open()
		}
	}
}

// leftOut returns an error for each process in which the kernel has left out returns. Others may
// trace returns in other processes.
func (p *programs) leftOut() (errs []error) {
	p.mu.Lock()
	log := p.log
	p.mu.Unlock()
	only := p.options.Target.only()
	for _, pid := range log.Processes() {
		if len(only) == 0 || p.family != nil || slices.Contains(only, pid) {
			errs = append(errs, fmt.Errorf("the kernel has left out returns in process %d: a thread can be in 64 calls at a time whose returns it traces, and deeper ones have no event; entries have all", pid))
		}
	}
	return errs
}

// Leave does nothing: the attachments to files are retired, of all sides at once.
func (p *programs) Leave([]discover.Owner) {}

// prune forgets programs that no site needs any more.
func (p *programs) prune() error {
	used := p.attached.Programs()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.loaded.Prune(used)
}

// Close lets processes go on, and frees programs and maps.
func (p *programs) Close() error {
	p.log.Close()
	if p.maps == nil {
		return nil
	}
	p.letGo() // in case that opening failed
	p.loaded.Close()
	return p.maps.Close()
}
