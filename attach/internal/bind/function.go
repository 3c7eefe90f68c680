package bind

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-usdt/usdt/attach/internal/argument"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/internal/typed"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// retval is the name of a function's result.
const retval = argument.Retval

// errInstruction is why an instruction within a function has no arguments.
var errInstruction = errors.New("a function has its arguments in their registers only at its entry")

// bindFunction reads the arguments at a function's entry, or its results.
func (b *Binder) bindFunction(sc *Schema, s *site.Site, regs *operand.Registers) {
	p := &s.Probe
	sc.Named = true
	typed := b.typed(p)
	var shown, unshown []string
	if typed != nil {
		shown, unshown = b.shownVariables(p, typed), b.unshownVariables(p, typed)
	}
	b.bindWords(sc, s, regs, typed != nil)
	if typed == nil || len(shown)+len(unshown) == 0 {
		return
	}
	first, others := sc.Fields, sc.Unshown
	sc.Fields, sc.Unshown = nil, nil
	sc.bindNamed(s, regs, typed, shown, unshown)
	sc.Fields, sc.Unshown = slices.Concat(sc.Fields, first), slices.Concat(sc.Unshown, others)
}

// bindWords reads the arguments at a function's entry, or its result, by the calling convention
// alone. If the function's types are known, it reads only arguments that are named.
func (b *Binder) bindWords(sc *Schema, s *site.Site, regs *operand.Registers, typed bool) {
	p := &s.Probe
	if p.Kind.IsReturn() {
		if typed && !b.wordOf(retval) {
			return
		}
		arg, err := p.Target.Result()
		b.Args.Retype(&arg, retval)
		sc.Fields = []shape.Field{{Name: retval, Kind: kindOf(arg), Err: err}}
		if err == nil {
			b.bindArguments(sc, s, regs, []notes.Arg{arg}, nil)
		}
		return
	}
	shown := b.shownArguments(p, typed)
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
		b.Args.Retype(&arg, shape.ArgName(i))
		args = append(args, arg)
		sc.Fields = append(sc.Fields, shape.Field{Name: shape.ArgName(i), Kind: kindOf(arg)})
	}
	b.bindArguments(sc, s, regs, args, nil)
	n := len(shown)
	sc.Fields, sc.Unshown = sc.Fields[:n:n], sc.Fields[n:]
}

// shownArguments returns the numbers of the arguments that events hold: only the named ones
// if the function's types are known.
func (b *Binder) shownArguments(p *reader.Probe, typed bool) []int {
	var out []int
	if b.Args.All && !typed {
		for i := range p.Arguments() {
			out = append(out, i)
		}
	}
	names := slices.Clone(b.Args.Names)
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

// bindVariables reads the variables of a line, or an inlined function, that are asked for.
func (b *Binder) bindVariables(sc *Schema, s *site.Site, regs *operand.Registers) {
	sc.Named = true
	var shown, unshown []string
	for _, name := range b.Args.Names {
		if !slices.Contains(shown, name) && !b.Args.OfCast(name) {
			shown = append(shown, name)
		}
	}
	for _, name := range b.namesUsed() {
		if v := argument.Find(s.Probe.Source.Variables, name); v != nil && !slices.Contains(shown, name) && !slices.Contains(unshown, name) {
			unshown = append(unshown, name)
		}
	}
	src := s.Probe.Source
	sc.bindNamed(s, regs, &argument.Variables{All: src.Variables, Err: src.Err, Where: "in scope here"}, shown, unshown)
}

// bindNamed reads variables. The shown ones become fields.
func (sc *Schema) bindNamed(s *site.Site, regs *operand.Registers, all *argument.Variables, shown, unshown []string) {
	reads := 0 // of strings
	inside := &insides{sc: sc, slots: map[string]int{}, relative: func(op operand.Operand, v *reader.Variable) (operand.Operand, error) {
		return op.Relative(v, regs, &s.Probe, s.Offset)
	}}
	var strs []stringField
	place := all.Of
	if place == nil {
		place = func(v *reader.Variable) (operand.Operand, error) {
			return operand.OfVariable(v, regs, &s.Probe, s.Offset)
		}
	}
	inside.all, inside.place, place = all, place, inside.of
	for i, name := range slices.Concat(shown, unshown) {
		f := shape.Field{Name: name}
		v := all.Find(name)
		if v == nil {
			f.Err = all.Lack(name)
			sc.Fields = append(sc.Fields, f)
			continue
		}
		f.Kind = v.Kind
		sc.nameValues(name, typed.Enum(v))
		inside.left = record.MaxReads - sc.Sig.Reads() - reads - 4
		op, err := place(v)
		var str *StringArg
		if v.Kind == reader.String || v.Stride > 0 {
			if str = (&StringArg{arg: name, length: v.Length, most: v.Count}); v.Kind != reader.String {
				str.element = &shape.Field{Source: shape.FromRecord, Kind: v.Kind, Size: uint8(v.Stride)}
			}
		}
		switch {
		case err != nil:
			f.Err = err
		case op.Kind == operand.Const && str == nil:
			f.Source, f.Constant = shape.FromConstant, constantOf(op.Value, op.Size, f.Kind, f.Meaning)
			f.Bits = bitsOf(f.Constant)
		case sc.Sig.Reads()+1+reads+str.reads() > record.MaxReads:
			f.Err = errTooMany
		default:
			f.Source, f.Size, f.Read = shape.FromRecord, op.ValueSize(), sc.Sig.Read(op)
			f.Offset = record.Slot(f.Read)
			if str == nil {
				inside.slots[name] = f.Read
			}
			if str != nil {
				strs = append(strs, stringField{i, str})
				reads += str.reads()
			}
		}
		sc.Fields = append(sc.Fields, f)
	}
	sc.bindStrings(strs, func(name string) (operand.Operand, *notes.Arg) {
		if v := all.Find(name); v != nil {
			if op, err := place(v); err == nil {
				return op, &notes.Arg{Signed: v.Kind == reader.Int}
			}
		}
		return operand.Operand{}, nil
	})
	n := len(shown)
	sc.Fields, sc.Unshown = sc.Fields[:n:n], sc.Fields[n:]
}

// typed returns what the function of p has by names and types of debugging information: its
// arguments or, at its return, its results. It returns nil if they are not known, or if nobody
// asks for them: then nothing is read to find them.
func (b *Binder) typed(p *reader.Probe) *argument.Variables {
	if p.Target == nil || p.Source != nil || p.Displacement() != 0 && !p.AtRET || !b.wantsTypes(p) {
		return nil
	}
	b.Types.Read(p)
	switch t := p.Target.Typed; {
	case t == nil || !t.Known:
		return nil
	case p.Kind.IsReturn():
		return &argument.Variables{All: t.Results, Err: t.Err, Where: "a result of the function"}
	default:
		return &argument.Variables{All: t.Arguments, Err: t.Err, Where: "an argument of the function"}
	}
}

// wantsTypes reports whether somebody asks for arguments of functions that are not named as words.
func (b *Binder) wantsTypes(p *reader.Probe) bool {
	if b.Args.Variable != "" {
		return true
	}
	if b.Args.All && (b.Aggregate == nil || b.Aggregate.Whole()) {
		return !p.Kind.IsReturn() || !b.wordOf(retval)
	}
	return slices.ContainsFunc(b.namesUsed(), b.isVariable)
}

// isVariable reports whether a name may be that of a variable.
func (b *Binder) isVariable(name string) bool {
	if name == "" || name == "probe" || name == query.Stack || isArgName(name) || b.wordOf(name) || b.Args.OfCast(name) {
		return false
	}
	i := query.TaskKeyOf(name)
	return i < 0 || query.TaskKeys[i].What != ""
}

// wordOf reports whether an option says how the word called name is read.
func (b *Binder) wordOf(name string) bool {
	_, typed := b.Args.Types[name]
	return typed || slices.ContainsFunc(b.Strings, func(t StringArg) bool { return t.arg == name && !t.implied })
}

// shownVariables returns the names of the variables that events hold. Unless some are named, that
// are the arguments themselves, what structures among them consist of, and text in structures to
// which arguments point.
func (b *Binder) shownVariables(p *reader.Probe, all *argument.Variables) (names []string) {
	if b.Args.All {
		return all.Usual()
	}
	other := p.Target.Typed.Results
	if p.Kind.IsReturn() {
		other = p.Target.Typed.Arguments
		if b.Args.Result || len(b.Args.Names) == 0 {
			names = all.Usual()
		}
	}
	for _, name := range b.Args.Names {
		if isArgName(name) || b.Args.OfCast(name) || slices.Contains(names, name) || argument.Find(other, name) != nil && all.Find(name) == nil {
			continue
		}
		names = append(names, name)
	}
	return names
}

// unshownVariables returns the names of variables that are not shown, but that the condition or
// the aggregation names.
func (b *Binder) unshownVariables(p *reader.Probe, all *argument.Variables) (names []string) {
	shown := b.shownVariables(p, all)
	for _, name := range b.namesUsed() {
		if b.isVariable(name) && all.Find(name) != nil && !slices.Contains(shown, name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// seeVariables notes which variables of Options.Args a probe has.
func (u *OptionUse) seeVariables(sc *Schema, p *reader.Probe) {
	for i, name := range u.variables {
		j := slices.IndexFunc(sc.Fields, func(f shape.Field) bool { return f.Name == name })
		var lacks argument.Lacking
		switch {
		case p.Target == nil && p.Source == nil && !p.Kind.HasFields():
		case j >= 0 && !errors.As(sc.Fields[j].Err, &lacks):
			u.usesVariable[i] = true
		case u.noVariable[i] != nil:
		case j >= 0:
			u.noVariable[i] = fmt.Errorf("%s: %w", site.Name(p), lacks)
		case p.Target != nil && p.Source == nil && p.Target.Typed != nil && !p.Target.Typed.Known && p.Target.Typed.Err != nil:
			u.noVariable[i] = fmt.Errorf("%s: %w", site.Name(p), p.Target.Typed.Err)
		case p.Target != nil && p.Source == nil && (p.Target.Typed == nil || !p.Target.Typed.Known):
			u.noVariable[i] = fmt.Errorf("%s has no debugging information that names its arguments: it has arg0, arg1 and so on, and retval", site.Name(p))
		}
	}
}
