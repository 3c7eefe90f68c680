package bind

import (
	"context"

	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/site"
)

// Misfit says why a site is left out: the condition or the aggregation does not
// fit its arguments. Versions of a program may have different probes of one name,
// and a pattern may name probes without the argument.
type Misfit struct{ Err error }

func (e *Misfit) Error() string { return e.Err.Error() }
func (e *Misfit) Unwrap() error { return e.Err }

// All decides what is read at every site that is not refused, and refuses
// the sites that do not fit.
func All(ctx context.Context, plan site.Plan, b *Binder) ([]*Schema, error) {
	schemas := make([]*Schema, len(plan))
	if err := b.preparePairs(plan); err != nil {
		return nil, err
	}
	programs := map[int]bool{}
	for _, i := range b.Aggregate.order(plan) {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		if plan[i].Reason != nil {
			continue
		}
		if b.Keep {
			b.keepCarrier(&plan[i], programs)
		}
		before := b.Aggregate.Clone()
		sc, err := b.bind(&plan[i])
		if err != nil {
			b.Aggregate.restore(before) // the next site may be the first that fits
			plan[i].Reason = &Misfit{err}
			continue
		}
		if err := sc.Sig.Fits(); err != nil && !plan[i].Local {
			b.Aggregate.restore(before)
			plan[i].Reason = err
			continue
		}
		schemas[i] = sc
	}
	b.bindOthers(plan, schemas)
	if b.Aggregate != nil {
		b.Aggregate.settle(plan, schemas)
	}
	for i, sc := range schemas {
		if sc != nil {
			plan[i].Uncomputed = b.uncomputed(sc)
		}
	}
	var shared query.Index[*query.Signature]
	seen, of := map[*Schema]bool{}, map[*query.Signature]*query.Signature{} // of schemas without fields
	for _, sc := range schemas {
		if sc == nil || seen[sc] {
			continue
		}
		was := sc.Sig
		if same := of[was]; same != nil && sc.withFields != nil {
			sc.share(same)
			continue
		}
		seen[sc] = true
		if b.Recorded || sc.arrives() {
			sc.compute(b.Tests && !sc.arrives())
		}
		if same, ok := shared.Find(sc.Sig); ok {
			sc.share(same)
		} else {
			shared.Put(sc.Sig, sc.Sig)
		}
		of[was] = sc.Sig
	}
	return schemas, nil
}
