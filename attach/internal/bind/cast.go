package bind

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/go-usdt/usdt/attach/internal/argument"
	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/internal/spelling"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// castTypes returns the types of all casts at a probe, nil if there are none. They are the same
// ones for all sites that may share a schema.
func (b *Binder) castTypes(p *reader.Probe) *[]*discover.Cast {
	if len(b.Args.Casts) == 0 || p.Kind.InKernel() || p.Type != nil || b.Types == nil {
		return nil
	}
	all := make([]*discover.Cast, len(b.Args.Casts))
	for i := range b.Args.Casts {
		all[i] = b.Types.Cast(p, b.Args.Casts[i].Cast)
	}
	p.Casts = nil
	for i, t := range all {
		p.Casts = append(p.Casts, b.heldParts(p, &b.Args.Casts[i], t.Parts)...)
	}
	for _, known := range b.castsSeen {
		if slices.Equal(*known, all) {
			return known
		}
	}
	b.castsSeen = append(b.castsSeen, &all)
	return &all
}

// bindCasts reads what is at the addresses that Options.Args give types.
func (b *Binder) bindCasts(sc *Schema, s *site.Site, regs *operand.Registers) {
	types := b.castTypes(&s.Probe)
	if types == nil {
		return
	}
	if sc.Places == nil && !sc.Named {
		sc.Places = []string{}
		for i := range sc.Fields {
			sc.Places = append(sc.Places, sc.Fields[i].Name)
		}
	}
	fields, unshown := sc.Fields, sc.Unshown
	for i := range b.Args.Casts {
		c, t := &b.Args.Casts[i], (*types)[i]
		base, held, err := b.castHeld(sc, s, regs, c)
		if !held && err == nil {
			base, err = b.castBase(s, regs, c.Arg)
		}
		if err = cmp.Or(t.Err, err); errors.Is(err, errNoArg) {
			b.Used.seeCast(i, fmt.Errorf("%q: %s %w", c.Text, site.Name(&s.Probe), err))
			continue
		}
		all := &argument.Variables{All: t.Parts, Where: "a member of " + c.Type, Of: func(v *reader.Variable) (operand.Operand, error) {
			if err != nil {
				return operand.Operand{}, err
			}
			op, err := base.Part(v, s.Probe.Class)
			if err != nil {
				return op, err
			}
			return op.Relative(v, regs, &s.Probe, s.Offset)
		}}
		var shown, other []string
		for _, name := range b.Args.Names {
			if c.Has(name) && !slices.Contains(shown, name) {
				shown = append(shown, name)
			}
		}
		misfit := t.Err
		for _, name := range shown {
			if t.Err == nil && all.Find(name) == nil {
				misfit = cmp.Or(misfit, all.Lack(name))
			}
		}
		if misfit != nil {
			misfit = fmt.Errorf("%q: %w", c.Text, misfit)
		}
		b.Used.seeCast(i, misfit)
		switch {
		case t.Err != nil:
			fields = append(fields, shape.Field{Name: c.Name, Err: t.Err})
			continue
		case len(shown) == 0:
			shown = all.Parts(min(argument.ShownReads, record.MaxReads-sc.Sig.Reads()-2*len(b.namesUsed())-4))
		}
		for _, name := range append(b.namesUsed(), c.Name) {
			if c.Has(name) && all.Find(name) != nil && !slices.Contains(shown, name) && !slices.Contains(other, name) {
				other = append(other, name)
			}
		}
		sc.Fields, sc.Unshown = nil, nil
		sc.bindNamed(s, regs, all, shown, other)
		fields, unshown = append(fields, sc.Fields...), append(unshown, sc.Unshown...)
	}
	sc.Fields, sc.Unshown = fields, unshown
}

var errNoArg = errors.New("has no such argument")

// castable returns the variables of p that may be cast.
func (b *Binder) castable(p *reader.Probe) []reader.Variable {
	switch {
	case p.Source != nil:
		return p.Source.Variables
	case b.Types == nil || p.Target == nil:
		return nil
	}
	b.Types.Read(p)
	return variablesOf(p)
}

// variablesOf returns the variables of p, as far as they have been read.
func variablesOf(p *reader.Probe) []reader.Variable {
	switch {
	case p.Source != nil:
		return p.Source.Variables
	case p.Target == nil || p.Target.Typed == nil || !p.Target.Typed.Known:
		return nil
	case p.Kind.IsReturn():
		return p.Target.Typed.Results
	}
	return p.Target.Typed.Arguments
}

// castBase returns where an argument is that is cast.
func (b *Binder) castBase(s *site.Site, regs *operand.Registers, name string) (operand.Operand, error) {
	p := &s.Probe
	if p.Source != nil || p.Target != nil && !isArgName(name) && name != retval {
		all := b.castable(p)
		v := argument.Find(all, name)
		if v == nil {
			var names []string
			for i := range all {
				names = append(names, all[i].Name)
			}
			return operand.Operand{}, fmt.Errorf("%w %s%s", errNoArg, name, spelling.Nearly(name, names))
		}
		return operand.OfVariable(v, regs, p, s.Offset)
	}
	var arg notes.Arg
	switch n, numbered := shape.ArgNumber(name); {
	case p.Target != nil && name == retval && p.Kind.IsReturn():
		var err error
		if arg, err = p.Target.Result(); err != nil {
			return operand.Operand{}, err
		}
	case p.Target != nil && numbered && p.Kind.HasArguments() && p.Displacement() == 0:
		var err error
		if arg, err = p.Target.Argument(n); err != nil {
			return operand.Operand{}, err
		}
	case p.Target != nil:
		return operand.Operand{}, fmt.Errorf("%w %s", errNoArg, name)
	default:
		args := p.Arguments()
		known := b.known(p)
		if !numbered {
			n = -1
			for i := range args {
				if known != nil && i < len(known.Params) && known.Params[i].Name == name {
					n = i
				}
			}
		}
		if n < 0 || n >= len(args) {
			return operand.Operand{}, fmt.Errorf("%w %s: it has %d, arg0 and so on", errNoArg, name, len(args))
		}
		arg = args[n]
	}
	if arg.Float {
		return operand.Operand{}, errors.New("it has a fraction, and no type can be given to it")
	}
	obj, _ := b.Objects.Open(s.Path) // nil if it cannot be opened
	return operand.Compile(arg, regs, p.Machine, p.Class, obj, p.Location+p.Delta, int64(s.Offset-p.Offset))
}
