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
func (p *programs) unknown(signatures []*query.Signature) (out []*query.Signature, scratch int) {
	for _, sig := range signatures {
		if _, ok := p.loaded.Find(sig); ok && !p.together() {
			continue
		}
		out = append(out, sig)
		if sig.NeedsScratch() {
			scratch = max(scratch, sig.ScratchSize())
		}
	}
	return out, scratch
}

// load creates programs for the signatures of a batch, and refuses the sites that have none.
// The error concerns all.
func (p *programs) load(ctx context.Context, b *batch, m *load.Maps) error {
	refused, err := p.loaded.Load(ctx, b.signatures, &m.Refs, &p.mu)
	if err != nil {
		return err
	}
	for sig, why := range refused {
		if sig.Hook.Function != "" && errors.Is(why, unix.EINVAL) { // as the kernel says of links of many functions
			refused[sig] = fmt.Errorf("no trampoline can be put there: %w", why)
			continue
		}
		refused[sig] = p.loadError(why)
	}
	return leaveOut(b.plan, b.schemas, refused)
}

// loadError is why a signature's program could not be loaded.
func (p *programs) loadError(err error) error {
	if errors.Is(err, unix.E2BIG) && p.options.condition != nil {
		return &WhereError{Where: p.options.Where, Column: 1, Msg: "it is too long for the kernel: a program has room for fewer comparisons, and time for fewer or shorter pieces of text between stars"}
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

// share decides which sites share another site's link, and refuses sites that need
// one and cannot.
func (p *programs) share(b *batch) {
	b.followers = p.sharing.Share(b.plan, b.objects)
	for i := range b.plan {
		if b.followers[i] == nil && b.plan[i].Reason != nil {
			b.schemas[i] = nil
		}
	}
}

// groups returns the sites by link. A site that shares another one's link has
// none.
func (p *programs) groups(b *batch) []*site.Group {
	groups := site.Groups{Objects: b.objects, Procs: p.procs, Kernel: p.kernel, Trampoline: p.trampolineOf, Unpatched: p.unpatched}
	codes := map[*query.Signature]load.Code{}
	for i := range b.plan {
		sc := b.schemas[i]
		if sc == nil || b.followers[i] != nil || b.plan[i].Local {
			continue
		}
		c, ok := codes[sc.Sig]
		if !ok {
			c, _ = p.loaded.Find(sc.Sig)
			codes[sc.Sig] = c
		}
		groups.Add(&b.plan[i], c.Prog, c.Entry.Cookie(b.numbers[i]))
	}
	return groups.All
}
