package bind

import (
	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/reader"
)

// bindCondition fits the condition to what is read at a site of p. The error may be a
// [*filter.Error].
func bindCondition(expr *filter.Expr, sc *Schema, p *reader.Probe) error {
	c, err := expr.Check(func(name string, isString bool) (filter.Value, error) {
		in, err := sc.Input(p, name, isString)
		if err != nil {
			return filter.Value{}, err
		}
		sc.Sig.Inputs = append(sc.Sig.Inputs, in)
		sc.compared = append(sc.compared[:len(sc.Sig.Inputs)-1:len(sc.Sig.Inputs)-1], name)
		v := filter.Value{Kind: in.FilterKind(), Size: in.Size, Index: len(sc.Sig.Inputs) - 1}
		if enum := sc.enumOf(name); isString && enum != nil {
			v.Names = enum
		}
		return v, nil
	})
	sc.Sig.Condition = c
	return err
}

// Tested returns a signature by which package tally tests another condition on records
// of a schema. The error may be a [*filter.Error].
func Tested(expr *filter.Expr, sc *Schema, p *reader.Probe) (*query.Signature, error) {
	sig := *sc.Sig
	sig.Condition, sig.Inputs, sig.Aggregate = nil, nil, nil
	other := *sc
	other.share(&sig)
	other.onlyRecords = true
	if err := bindCondition(expr, &other, p); err != nil {
		return nil, err
	}
	return &sig, nil
}
