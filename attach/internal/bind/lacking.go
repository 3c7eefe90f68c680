package bind

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/reader"
)

// lacking says what does not fit a site whose events are counted all the same.
type lacking struct {
	arguments map[string]error // keys and the value, by name
	condition error
}

func (l *lacking) of(name string) error {
	if l == nil {
		return nil
	}
	return l.arguments[name]
}

// lack makes an input one that cannot be read, for a reason, if the site is to be bound
// whatever does not fit it. It reports whether that is so.
func (s *Schema) lack(in *query.Input, name string, err error) bool {
	if s.lacking == nil {
		return false
	}
	*in = query.Input{Source: query.InputMissing, Kind: in.Kind, Size: 8}
	s.lacking.arguments[name] = plainly(err)
	return true
}

// lackCondition makes the condition one that no event passes, as lack does.
func (s *Schema) lackCondition(err error) bool {
	if s.lacking == nil {
		return false
	}
	s.Sig.Inputs = []query.Input{{Source: query.InputMissing, Kind: reader.Uint, Size: 8}}
	s.Sig.Condition = &filter.Condition{Op: filter.Less, Value: filter.Value{Kind: filter.Uint, Size: 8}}
	s.lacking.condition = err
	return true
}

// otherForm says that an argument differs from what it is elsewhere.
func otherForm(here, elsewhere *query.Input) error {
	return fmt.Errorf("it is %s, and %s elsewhere", formOf(here), formOf(elsewhere))
}

func formOf(in *query.Input) string {
	switch {
	case in.Meaning == reader.Duration:
		return "a duration"
	case in.Meaning == reader.Time:
		return "a time"
	case in.Meaning == reader.Hex:
		return "an identifier"
	case in.Meaning == reader.Address || in.Meaning == reader.NetIP:
		return "an address"
	case in.IsString():
		return "text"
	case in.Kind == reader.Bool:
		return "a bool"
	case in.Kind == reader.Float:
		return fmt.Sprintf("a floating-point number of %d bytes", in.SiteSize())
	}
	return "an integer"
}

// plainly returns an error without ErrAggregation, which says nothing about a site.
func plainly(err error) error {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		if parts := all.Unwrap(); len(parts) == 2 && errors.Is(parts[0], query.ErrAggregation) {
			return parts[1]
		}
	}
	return err
}

// bindOthers binds sites that something does not fit, as an argument that is a constant of
// another kind there, if other sites of the same probe fit: no event of a probe is to be
// missing from what is counted of it.
func (b *Binder) bindOthers(plan site.Plan, schemas []*Schema) {
	misfit := func(s site.Site) bool { _, ok := s.Reason.(*Misfit); return ok }
	if b.Aggregate == nil || !slices.ContainsFunc(plan, misfit) {
		return
	}
	fits := map[string]bool{}
	for i := range plan {
		if schemas[i] != nil {
			fits[site.Name(&plan[i].Probe)] = true
		}
	}
	b.tolerant = true
	defer func() { b.tolerant = false }()
	for _, i := range b.Aggregate.order(plan) {
		misfit, ok := plan[i].Reason.(*Misfit)
		if !ok || errors.Is(misfit, ErrBothRoles) || !fits[site.Name(&plan[i].Probe)] {
			continue
		}
		before := b.Aggregate.Clone()
		sc, err := b.bind(&plan[i])
		if err == nil && !plan[i].Local {
			err = sc.Sig.Fits()
		}
		if err != nil {
			b.Aggregate.restore(before)
			continue
		}
		schemas[i], plan[i].Reason = sc, nil
	}
}

// uncomputed returns what cannot be computed of the events of a site.
func (b *Binder) uncomputed(sc *Schema) (all []error) {
	if sc.lacking != nil && sc.lacking.condition != nil {
		all = append(all, fmt.Errorf("the condition does not fit it, so that its events count as filtered: %w", sc.lacking.condition))
	}
	if b.Condition != nil {
		for _, name := range b.Condition.Names() {
			if f, err := sc.Resolve(name); err == nil && f.Source == shape.FromNowhere && f.Err != nil {
				all = append(all, fmt.Errorf("%s cannot be read there, so that the condition's comparison with it is false: %w", name, f.Err))
			}
		}
	}
	if b.Aggregate == nil || sc.Sig.Aggregate == nil {
		return all
	}
	code := sc.Sig.Aggregate
	say := func(name string, in *query.Input, events string) {
		if in.Source != query.InputMissing {
			return
		}
		reason := sc.lacking.of(name)
		for _, name := range query.NamesOf(name) {
			if f, err := sc.Resolve(name); err == nil && reason == nil {
				reason = f.Err
			}
		}
		if reason == nil {
			reason = errMissing
		}
		all = append(all, fmt.Errorf("%s cannot be computed there, so that its events %s: %w", name, events, reason))
	}
	if code.Wanted.Value {
		say(b.Aggregate.Wanted.Value, &code.Value, "are lost")
	}
	if b.Aggregate.Pairs != nil && b.Aggregate.Pairs.Key != nil {
		for i := range code.Pair {
			say(b.Aggregate.Pairs.Key[i], &code.Pair[i].In, "are lost")
		}
	}
	if code.Role != query.RoleStart {
		for i := range code.Parts {
			if pairs := b.Aggregate.Pairs; pairs == nil || !pairs.fromStart[i] {
				say(b.Aggregate.Wanted.By[i], &code.Parts[i].In, "have a group without it")
			}
		}
	}
	return all
}
