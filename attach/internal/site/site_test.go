package site

import (
	"context"
	"errors"
	"testing"

	"github.com/go-usdt/usdt/attach/internal/plan"
	"github.com/go-usdt/usdt/reader"
)

// doneAfter is a context that is done after some calls of Err.
type doneAfter struct {
	context.Context
	left int
}

func (c *doneAfter) Err() error {
	if c.left == 0 {
		return context.Canceled
	}
	c.left--
	return nil
}

// TestDecideInterrupted checks that nothing is decided about sites when the context is
// done: they may be many, and each may need a look at its file.
func TestDecideInterrupted(t *testing.T) {
	refused := errors.New("refused")
	sites := make(Plan, 3)
	for i := range sites {
		sites[i].Probe = reader.Probe{SiteErr: refused}
	}
	planner := plan.New(false, func([]byte) bool { return false })
	defer planner.Objects.Close()
	if err := sites.Decide(&doneAfter{t.Context(), 2}, planner); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
	for i := range sites {
		if decided := sites[i].Reason != nil; decided != (i < 2) {
			t.Errorf("site %d is decided about: %t", i, decided)
		}
	}
}
