package bind

import (
	"github.com/go-usdt/usdt/attach/internal/filter"
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
		return filter.Value{Kind: in.FilterKind(), Size: in.Size, Index: len(sc.Sig.Inputs) - 1}, nil
	})
	sc.Sig.Condition = c
	return err
}
