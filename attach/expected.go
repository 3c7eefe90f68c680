package attach

import (
	"errors"
	"slices"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/numbering"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/reader"
)

// expected is what options ask of probes. The first probes of each selector show whether they have
// it, and all selectors' first probes what may be any one's.
type expected struct {
	fitted []bool          // by selector: a site that it names has it, or need not
	seen   []bool          // by selector: a site that it names is known
	used   *bind.OptionUse // which options had an effect; nil once all selectors' sites are known
	// fitsTogether returns why what is asked of all sites together does not fit these; nil if nothing is.
	fitsTogether func(*numbering.Table) error
}

// expect notes what the options of a tracing ask of the probes that its selectors name.
func (t *tracing) expect() {
	n, o := len(t.selectors), t.options
	t.fitted, t.seen = make([]bool, n), make([]bool, n)
	t.used = bind.NewOptionUse(o.strings[:len(o.Strings)], o.Follow, &o.functionArgs)
}

// unmet returns why no probe of some selector has what the caller asks for, as far as the known
// sites and the sites of plan show that.
func (t *tracing) unmet(plan site.Plan, schemas []*bind.Schema, layout *bind.Layout) error {
	if err := t.misfit(plan, schemas); err != nil {
		return err
	}
	if t.used == nil || t.options.Await && slices.Contains(t.seen, false) {
		return nil
	}
	used := t.used
	t.used = nil
	for s := range t.fitted {
		t.fitted[s] = true // later sites that lack it are left out
	}
	if t.options.on != nil {
		known := &numbering.Table{}
		if now := t.sites.Load(); now != nil {
			known = now
		}
		err := fitsOne(t.options.on, slices.Concat(known.Schemas, schemas), func(i int) *reader.Probe {
			if i < len(known.Schemas) {
				return known.Probes[i]
			}
			return &plan[i-len(known.Schemas)].Probe
		})
		if err != nil {
			return err
		}
	}
	if err := optionError(used.Check()); err != nil {
		return err
	}
	if layout == nil || len(plan) == 0 {
		return nil
	}
	return whereError(layout.Fits())
}

// misfit returns why all sites of some selector were left out, if there is such a
// selector: what the caller asks for does not fit any of them.
func (t *tracing) misfit(plan site.Plan, schemas []*bind.Schema) error {
	if !slices.Contains(t.fitted, false) {
		return nil
	}
	var left []int
	for i := range plan {
		misfit, ok := plan[i].Reason.(*bind.Misfit)
		if ok && errors.Is(misfit, bind.ErrBothRoles) {
			return misfit.Err
		}
		if ok {
			left = append(left, i)
		}
	}
	for s := range t.selectors {
		names := func(i int) bool { return discover.Selects(&t.selectors[s], &plan[i].Probe) }
		for i := 0; i < len(plan) && !t.fitted[s]; i++ {
			if names(i) {
				t.seen[s], t.fitted[s] = true, schemas[i] != nil
			}
		}
		if t.fitted[s] {
			continue
		}
		if first := slices.IndexFunc(left, names); first >= 0 {
			return plan[left[first]].Reason.(*bind.Misfit).Err
		}
	}
	return nil
}

// giveUp ends tracing, since nothing that has appeared can be traced as asked.
func (t *tracing) giveUp(err error) {
	t.fail(err)
	t.mu.Lock()
	t.unfit = err
	t.mu.Unlock()
	t.cancel()
}
