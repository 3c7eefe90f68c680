package collection

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/link"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/plan"
	"github.com/go-usdt/usdt/attach/internal/process"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/kernfunc"
	"github.com/go-usdt/usdt/internal/selector"
)

// target holds the sites that a program is to be attached to.
type target struct {
	options  *Options
	note     string // on the program
	built    bool   // the program is for functions that are built into the kernel, not for modules
	discover *discover.Search
	procs    *process.Set
	sharing  *site.Sharing // nil if each process has links of its own
	plan     site.Plan
	objects  operand.Objects // that have been planned for: open until they are attached to
	specs    []string        // by site; empty without a map of specs, and if it is refused
	cookies  []uint64        // by site
}

// selectorFor returns a selector as newTarget takes it: one of the program's kind may lack
// the word that says so.
func selectorFor(p *program, expr string) string {
	if first, _, _ := strings.Cut(expr, ":"); selector.IsKind(first) {
		return expr
	}
	return p.section.prefix() + expr
}

// newTarget finds the sites that expr selects, and decides about them.
func (c *Collection) newTarget(ctx context.Context, p *program, expr string, o *Options) (*target, error) {
	t := &target{options: o, note: p.note, built: p.section.links == link.TrampolineMany}
	sel, err := selector.Parse(expr)
	if err == nil && sel.Kind != p.section.kind {
		err = fmt.Errorf("the program is in a section for %s", p.section.takes())
	}
	if err != nil {
		return nil, &attach.SelectorError{Selector: expr, Err: err}
	}
	if sel.Kind.InKernel() {
		if err := link.CheckKernel(sel.Kind); err != nil {
			return nil, err
		}
		if err := discover.CheckTrampolines(&sel); err != nil {
			return nil, &attach.SelectorError{Selector: expr, Err: err}
		}
	}
	if t.procs, err = process.Hold(o.Target.PIDs); err != nil {
		return nil, err
	}
	t.discover = discover.New([]selector.Selector{sel}, t.procs)
	t.discover.Await, t.discover.Later = o.Await, o.Await
	found, err := t.discover.First(ctx)
	t.plan = site.PlanOf(found)
	if err != nil && !(o.Await && errors.Is(err, discover.ErrNoMatch) && !errors.Is(err, discover.ErrNoFunction)) {
		t.procs.Close()
		return nil, err
	}
	if err := t.plan.CheckKernel(p.linkTo); err != nil && !o.Force {
		t.procs.Close()
		return nil, &attach.OptionError{Option: "Force", Err: err}
	}
	if p.shares(o.Target.PIDs) {
		t.sharing = site.NewSharing(t.procs)
	}
	if c.kindOf(p).Led() && t.sharing == nil && o.Rescan > 0 {
		t.procs.WatchLeaders()
	}
	if err := t.bind(ctx, c.specs); err != nil {
		t.procs.Close()
		return nil, err
	}
	return t, nil
}

// bind decides about the sites and finds their specs, if there is a table of
// them.
func (t *target) bind(ctx context.Context, table *specTable) error {
	planner := plan.New(t.options.Force, link.Refuses)
	t.plan = t.plan.AtReturns(planner)
	t.objects, t.specs, t.cookies = planner.Objects, make([]string, len(t.plan)), make([]uint64, len(t.plan))
	binder := specBinder{table: table, objects: planner.Objects}
	for i := range t.plan {
		if err := context.Cause(ctx); err != nil {
			t.objects.Close()
			return err
		}
		s := &t.plan[i]
		if s.Decide(planner); s.Reason == nil && t.built && s.Probe.Provider != kernfunc.Kernel {
			s.Reason = fmt.Errorf("module %s has it, and a program for many functions by trampolines is loaded for functions of the kernel itself: kprobe.multi takes both", s.Probe.Provider)
		}
		if s.Reason == nil {
			t.cookies[i] = t.options.Cookie
			if of := t.options.CookieOf; of != nil {
				t.cookies[i] = of(attach.Site(s.Snapshot()))
			}
			t.specs[i], s.Reason = binder.bind(s, t.cookies[i])
		}
		if s.Reason == nil && t.note != "" {
			s.Notes = append(s.Notes, t.note)
		}
	}
	return nil
}
