package bind

import (
	"errors"
	"slices"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// retval is the name of a function's result.
const retval = "retval"

// errInstruction is why an instruction within a function has no arguments.
var errInstruction = errors.New("a function has its arguments in their registers only at its entry")

// bindFunction reads the arguments at a function's entry, or its result.
func (b *Binder) bindFunction(sc *Schema, s *site.Site, regs *operand.Registers) {
	p := &s.Probe
	sc.Named = true
	if p.Kind == reader.Uretprobe {
		arg, err := p.Target.Result()
		b.Args.retype(&arg, retval)
		sc.Fields = []shape.Field{{Name: retval, Kind: kindOf(arg), Err: err}}
		if err == nil {
			b.bindArguments(sc, s, regs, []notes.Arg{arg}, nil)
		}
		return
	}
	shown := b.shownArguments(p)
	unshown := b.unshownArguments(shown)
	var args []notes.Arg
	for _, i := range slices.Concat(shown, unshown) {
		arg, err := p.Target.Argument(i)
		if p.Displacement() != 0 {
			err = errInstruction
		}
		if err != nil {
			arg.Err = err
		}
		b.Args.retype(&arg, shape.ArgName(i))
		args = append(args, arg)
		sc.Fields = append(sc.Fields, shape.Field{Name: shape.ArgName(i), Kind: kindOf(arg)})
	}
	b.bindArguments(sc, s, regs, args, nil)
	n := len(shown)
	sc.Fields, sc.Unshown = sc.Fields[:n:n], sc.Fields[n:]
}

// shownArguments returns the numbers of the arguments that events hold.
func (b *Binder) shownArguments(p *reader.Probe) []int {
	var out []int
	if b.Args.all {
		for i := range p.Arguments() {
			out = append(out, i)
		}
	}
	names := slices.Clone(b.Args.names)
	for i := range b.Strings {
		if t := &b.Strings[i]; t.probes == nil || t.probes.Match(p.Path, p.Provider, p.Name) {
			names = append(names, t.arg)
		}
	}
	return appendArguments(out, names, nil)
}

// unshownArguments returns the numbers of arguments that are not shown, but that
// the condition or the aggregation names.
func (b *Binder) unshownArguments(shown []int) []int {
	return appendArguments(nil, b.namesUsed(), shown)
}

// appendArguments appends the numbers that names stand for, each once, except
// those in others.
func appendArguments(out []int, names []string, others []int) []int {
	for _, name := range names {
		if i, ok := shape.ArgNumber(name); ok && !slices.Contains(out, i) && !slices.Contains(others, i) {
			out = append(out, i)
		}
	}
	return out
}
