package attach

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/link"
	"github.com/go-usdt/usdt/attach/internal/load"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/kernel"
)

// hookOf returns the hook that programs need for a link of kind k to files. All may sleep,
// where the kernel lets them.
func hookOf(k link.Kind) query.Hook {
	return query.Hook{Type: k.ProgramType(), Attach: k.AttachType(), Sleeps: kernel.Sleepable.Require() == nil}
}

// signature returns the signature of the program that a site needs.
func (b *batch) signature(i int) *query.Signature {
	if sig := b.programs[i]; sig != nil {
		return sig
	}
	return b.schemas[i].Sig
}

// different returns the different signatures of sites that need programs.
func (b *batch) different() (signatures []*query.Signature) {
	seen := map[*query.Signature]bool{}
	for i, sc := range b.schemas {
		if sc == nil || b.plan[i].Local {
			continue
		}
		if sig := b.signature(i); !seen[sig] {
			seen[sig] = true
			signatures = append(signatures, sig)
		}
	}
	return signatures
}

// severalAttached reports whether programs are attached to more than one site of a batch. Such sites
// are attached to one after the other, so they would begin to count at different times.
func severalAttached(b *batch) bool {
	n := 0
	for i, sc := range b.schemas {
		if sc != nil && !b.plan[i].Local {
			n++
		}
	}
	return n > 1
}

// unknown returns the signatures that need a program, and the size of the scratch memory that
// these need. They are the signatures without a program or, where sites begin together, all.
func (p *programs) unknown(signatures []*query.Signature) (out []*query.Signature, scratch int) {
	for _, sig := range signatures {
		if _, ok := p.loaded.Find(sig); ok && !p.together() {
			continue
		}
		out = append(out, sig)
		for _, part := range sig.Parts() {
			if part.NeedsScratch() {
				scratch = max(scratch, part.ScratchSize())
			}
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
		if alone := link.LoadRefusal(why); sig.Hook.Function != "" && alone != nil {
			refused[sig] = alone
			continue
		}
		refused[sig] = p.loadError(why)
	}
	return leaveOut(b, refused)
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
func leaveOut(b *batch, refused map[*query.Signature]error) error {
	var where *WhereError
	left := false
	for i, sc := range b.schemas {
		if sc == nil {
			continue
		}
		why := refused[b.signature(i)]
		if why == nil {
			left = true
			continue
		}
		b.plan[i].Reason = why
		errors.As(why, &where)
		b.schemas[i] = nil
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
	groups := site.Groups{Objects: b.objects, Procs: p.procs, Kernel: p.linkTo, Unpatched: p.unpatched}
	codes := map[*query.Signature]load.Code{}
	ends := map[int]bool{}
	for _, end := range b.calls {
		ends[end] = true
	}
	for i := range b.plan {
		sc := b.schemas[i]
		if sc == nil || b.followers[i] != nil || b.plan[i].Local || ends[i] {
			continue
		}
		sig := b.signature(i)
		c, ok := codes[sig]
		if !ok {
			c, _ = p.loaded.Find(sig)
			codes[sig] = c
		}
		if end, ok := b.calls[i]; ok {
			groups.AddCall(&b.plan[i], &b.plan[end], c.Prog, c.Entry.Cookie(b.numbers[end]))
			continue
		}
		groups.Add(&b.plan[i], c.Prog, c.Entry.Cookie(b.numbers[i]))
	}
	return groups.All
}
