package attach

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/load"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/site"
)

// signaturesOf returns the different signatures of sites that need programs.
func signaturesOf(plan site.Plan, schemas []*bind.Schema) (signatures []*query.Signature) {
	seen := map[*query.Signature]bool{}
	for i, sc := range schemas {
		if sc != nil && !plan[i].Local && !seen[sc.Sig] {
			seen[sc.Sig] = true
			signatures = append(signatures, sc.Sig)
		}
	}
	return signatures
}

// unknown returns the signatures that need a program, and the size of the scratch memory that
// these need. They are the signatures without a program or, where sites begin together, all.
func (t *tracing) unknown(signatures []*query.Signature) (out []*query.Signature, scratch int) {
	for _, sig := range signatures {
		if _, ok := t.progs.Find(sig); ok && !t.together() {
			continue
		}
		out = append(out, sig)
		if sig.NeedsScratch() {
			scratch = max(scratch, sig.ScratchSize())
		}
	}
	return out, scratch
}

// load creates programs for the signatures. It returns why some have none; the
// error concerns all.
func (t *tracing) load(ctx context.Context, signatures []*query.Signature, m *load.Maps) (refused map[*query.Signature]error, err error) {
	refused, err = t.progs.Load(ctx, signatures, &m.Refs, &t.mu)
	for sig, why := range refused {
		refused[sig] = t.loadError(why)
	}
	return refused, err
}

// loadError is why a signature's program could not be loaded.
func (t *tracing) loadError(err error) error {
	if errors.Is(err, unix.E2BIG) && t.options.condition != nil {
		return &WhereError{Where: t.options.Where, Column: 1, Msg: "it is too long for the kernel: a program has room for fewer comparisons, and time for fewer or shorter pieces of text between stars"}
	}
	return fmt.Errorf("load the program that reads its arguments: %w", err)
}

// leaveOut refuses the sites of signatures without a program. It returns an error
// if the condition is the reason and no site is left.
func leaveOut(plan site.Plan, schemas []*bind.Schema, refused map[*query.Signature]error) error {
	var where *WhereError
	left := false
	for i, sc := range schemas {
		switch {
		case sc == nil:
		case refused[sc.Sig] == nil:
			left = true
		default:
			plan[i].Reason = refused[sc.Sig]
			errors.As(plan[i].Reason, &where)
			schemas[i] = nil
		}
	}
	if where != nil && !left {
		return where
	}
	return nil
}
