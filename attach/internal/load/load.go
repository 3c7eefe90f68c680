package load

import (
	"context"
	"errors"
	"sync"

	"github.com/go-usdt/usdt/attach/internal/codegen"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/internal/privilege"
)

// Load creates programs for signatures, whose maps are refs. It returns why the kernel refused
// some; the error concerns all. Programs are added with adding locked.
func (p *Programs) Load(ctx context.Context, signatures []*query.Signature, refs *codegen.Refs, adding sync.Locker) (refused map[*query.Signature]error, err error) {
	refuse := func(sig *query.Signature, err error) {
		if refused == nil {
			refused = map[*query.Signature]error{}
		}
		refused[sig] = err
	}
	var untried []*query.Signature
	for _, sig := range signatures {
		if err := p.refusal(sig); err != nil {
			refuse(sig, err)
		} else {
			untried = append(untried, sig)
		}
	}
	signatures = untried
	specs, entries := codegen.Specs(signatures, refs)
	for i, spec := range specs {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		var in []*query.Signature // the program
		for _, sig := range signatures {
			if entries[sig].Program == i {
				in = append(in, sig)
			}
		}
		prog, err := p.new(spec, in)
		var missing *privilege.Error
		switch {
		case err == nil:
			adding.Lock()
			p.add(prog, in, entries)
			adding.Unlock()
			continue
		case errors.As(privilege.Explain("load", err), &missing):
			return nil, privilege.Explain("load the programs that read arguments", err)
		}
		if len(in) == 1 {
			p.refuse(in[0], err)
			refuse(in[0], err)
			continue
		}
		// One of them is refused: load each in a program of its own.
		for _, sig := range in {
			alone, err := p.Load(ctx, []*query.Signature{sig}, refs, adding)
			if err != nil {
				return nil, err
			}
			if alone[sig] != nil {
				refuse(sig, alone[sig])
			}
		}
	}
	return refused, nil
}
