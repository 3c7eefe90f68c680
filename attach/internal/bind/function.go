package bind

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/selector"
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

// bindVariables reads the variables of a line, or an inlined function, that are asked for.
func (b *Binder) bindVariables(sc *Schema, s *site.Site, regs *operand.Registers) {
	sc.Named = true
	var shown, unshown []string
	for _, name := range b.Args.names {
		if !slices.Contains(shown, name) {
			shown = append(shown, name)
		}
	}
	for _, name := range b.namesUsed() {
		if v := variableOf(s, name); v != nil && !slices.Contains(shown, name) && !slices.Contains(unshown, name) {
			unshown = append(unshown, name)
		}
	}
	reads := 0 // of strings
	var strs []stringField
	for i, name := range slices.Concat(shown, unshown) {
		f := shape.Field{Name: name}
		v := variableOf(s, name)
		if v == nil {
			f.Err = noVariable(s, name)
			sc.Fields = append(sc.Fields, f)
			continue
		}
		f.Kind = v.Kind
		op, err := operand.OfVariable(v, regs, &s.Probe, s.Offset)
		var str *StringArg
		if v.Kind == reader.String {
			str = &StringArg{arg: name, length: v.Length}
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
			f.Source, f.Size, f.Read = shape.FromRecord, op.Size, sc.Sig.Read(op)
			f.Offset = record.Slot(f.Read)
			if str != nil {
				strs = append(strs, stringField{i, str})
				reads += str.reads()
			}
		}
		sc.Fields = append(sc.Fields, f)
	}
	sc.bindStrings(strs, func(name string) (operand.Operand, *notes.Arg) {
		if v := variableOf(s, name); v != nil {
			if op, err := operand.OfVariable(v, regs, &s.Probe, s.Offset); err == nil {
				return op, &notes.Arg{Signed: v.Kind == reader.Int}
			}
		}
		return operand.Operand{}, nil
	})
	n := len(shown)
	sc.Fields, sc.Unshown = sc.Fields[:n:n], sc.Fields[n:]
}

func variableOf(s *site.Site, name string) *reader.Variable {
	all := s.Probe.Source.Variables
	if i := slices.IndexFunc(all, func(v reader.Variable) bool { return v.Name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// noVariable returns the error for a variable that is not in scope.
func noVariable(s *site.Site, name string) error {
	var names []string
	for i := range s.Probe.Source.Variables {
		names = append(names, s.Probe.Source.Variables[i].Name)
	}
	if err := s.Probe.Source.Err; err != nil {
		return err
	}
	if len(names) == 0 {
		return errors.New("no variable is in scope here")
	}
	return fmt.Errorf("no variable %s is in scope here%s", name, selector.Nearly(name, names))
}
