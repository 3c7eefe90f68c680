package attach

import (
	"errors"
	"fmt"

	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/reader"
)

// WhereError says what is wrong with Options.Where.
type WhereError struct {
	Where  string
	Column int // in characters, from 1
	Msg    string
}

func (e *WhereError) Error() string {
	return fmt.Sprintf("condition %q, column %d: %s", e.Where, e.Column, e.Msg)
}

func parseWhere(where string) (*filter.Expr, error) {
	expr, err := filter.Parse(where)
	return expr, whereError(err)
}

func whereError(err error) error {
	var at *filter.Error
	if errors.As(err, &at) {
		return &WhereError{Where: at.Input, Column: at.Column, Msg: at.Msg}
	}
	return err
}

// bindWhere fits the condition to what is read at a site of p.
func bindWhere(expr *filter.Expr, sc *schema, p *reader.Probe) error {
	c, err := expr.Check(func(name string, text bool) (filter.Value, error) {
		in, err := sc.input(p, name, text)
		if err != nil {
			return filter.Value{}, err
		}
		sc.sig.Inputs = append(sc.sig.Inputs, in)
		return filter.Value{Kind: in.FilterKind(), Size: in.Size, Index: len(sc.sig.Inputs) - 1}, nil
	})
	sc.sig.Where = c
	return whereError(err)
}
