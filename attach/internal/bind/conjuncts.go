package bind

import (
	"slices"

	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/reader"
)

// pairCondition is one of the conditions between && of Options.Where.
type pairCondition struct {
	expr *filter.Expr
	fits bool // at a site, at least
	err  error
}

// bindCondition makes a site test those parts of a condition whose arguments it has:
// a start and its end have different arguments.
func (l *PairLayout) bindCondition(condition *filter.Expr, sc *Schema, p *reader.Probe) error {
	if l.conditions == nil {
		for _, expr := range condition.Conjuncts() {
			l.conditions = append(l.conditions, pairCondition{expr: expr})
		}
	}
	l.conditions = slices.Clone(l.conditions) // a restored layout has the original ones
	var all *filter.Condition
	for i := range l.conditions {
		c := &l.conditions[i]
		inputs := len(sc.Sig.Inputs)
		switch err := bindCondition(c.expr, sc, p); {
		case err == nil:
			c.fits = true
			if all != nil {
				sc.Sig.Condition = &filter.Condition{Op: filter.And, Left: all, Right: sc.Sig.Condition}
			}
			all = sc.Sig.Condition
		case sc.hasAll(c.expr.Names()):
			return err
		default:
			c.err, sc.Sig.Inputs = err, sc.Sig.Inputs[:inputs]
		}
	}
	sc.Sig.Condition = all
	return nil
}

// Fits returns the error of a part of the condition that no site tests.
func (l *Layout) Fits() error {
	if l.Pairs == nil {
		return nil
	}
	for _, c := range l.Pairs.conditions {
		if !c.fits {
			return c.err
		}
	}
	return nil
}
