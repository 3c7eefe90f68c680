package attach

import (
	"errors"
	"fmt"

	"github.com/go-usdt/usdt/attach/internal/filter"
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
