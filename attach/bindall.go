package attach

import (
	"context"

	"github.com/go-usdt/usdt/attach/internal/codegen"
	"github.com/go-usdt/usdt/attach/internal/site"
)

// misfitError is why a site is left out: the condition or the aggregation does
// not fit its arguments. Programs of several versions have several probes of one
// name, and a pattern names more than have an argument.
type misfitError struct{ err error }

func (e *misfitError) Error() string { return e.err.Error() }
func (e *misfitError) Unwrap() error { return e.err }

// bindAll decides what is read at every site that is not refused, and refuses
// those that do not fit.
func bindAll(ctx context.Context, plan site.Plan, b *binder) ([]*schema, error) {
	schemas := make([]*schema, len(plan))
	if err := b.preparePairs(plan); err != nil {
		return nil, err
	}
	for _, i := range b.aggregate.order(plan) {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		if plan[i].Reason != nil {
			continue
		}
		before := b.aggregate.clone()
		sc, err := b.bind(&plan[i])
		if err != nil {
			b.aggregate.restore(before) // the next site may be the first that fits
			plan[i].Reason = &misfitError{err}
			continue
		}
		if err := sc.sig.Fits(); err != nil {
			b.aggregate.restore(before)
			plan[i].Reason = err
			continue
		}
		schemas[i] = sc
	}
	if b.aggregate != nil {
		b.aggregate.settle(plan, schemas)
	}
	shared, seen := map[string]*codegen.Signature{}, map[*schema]bool{}
	for _, sc := range schemas {
		if sc == nil || seen[sc] {
			continue
		}
		seen[sc] = true
		key := sc.sig.Key()
		if same := shared[key]; same != nil {
			sc.share(same)
		} else {
			shared[key] = sc.sig
		}
	}
	return schemas, nil
}
