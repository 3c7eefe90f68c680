package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/interrupt"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/remark"
)

// unattached returns the error for a session that could not be opened. user is the
// context that signals end. waitable says that what is missing can be waited for.
func unattached(user context.Context, probes []string, waitable bool, err error) error {
	err = interrupt.ErrorOf(user, err)
	if by := (*interrupt.Cause)(nil); errors.As(err, &by) {
		return fmt.Errorf("%w before anything was attached", by)
	}
	return openError(remark.Missing(err, probes, waitable))
}

// openError turns an error in an option into one of usage.
func openError(err error) error {
	if missing := (*attach.PrivilegeError)(nil); errors.As(err, &missing) {
		return err // whatever else it says
	}
	if where := (*attach.WhereError)(nil); errors.As(err, &where) {
		return usageError{where}
	}
	err = optionError(err)
	var selector *attach.SelectorError
	if errors.As(err, &selector) || errors.Is(err, attach.ErrAggregation) {
		return usageError{err}
	}
	return err
}
