package bind

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/query"
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
	if p.Kind == reader.Uretprobe {
		if typed && !b.wordOf(retval) {
			return
		}
		arg, err := p.Target.Result()
		b.Args.retype(&arg, retval)
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
		b.Args.retype(&arg, shape.ArgName(i))
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
	if b.Args.all && !typed {
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
		if v := findVariable(s.Probe.Source.Variables, name); v != nil && !slices.Contains(shown, name) && !slices.Contains(unshown, name) {
			unshown = append(unshown, name)
		}
	}
	src := s.Probe.Source
	sc.bindNamed(s, regs, &variables{src.Variables, src.Err, "in scope here"}, shown, unshown)
}

// bindNamed reads variables. The shown ones become fields.
func (sc *Schema) bindNamed(s *site.Site, regs *operand.Registers, all *variables, shown, unshown []string) {
	reads := 0 // of strings
	var strs []stringField
	for i, name := range slices.Concat(shown, unshown) {
		f := shape.Field{Name: name}
		v := all.find(name)
		if v == nil {
			f.Err = all.lack(name)
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
		if v := all.find(name); v != nil {
			if op, err := operand.OfVariable(v, regs, &s.Probe, s.Offset); err == nil {
				return op, &notes.Arg{Signed: v.Kind == reader.Int}
			}
		}
		return operand.Operand{}, nil
	})
	n := len(shown)
	sc.Fields, sc.Unshown = sc.Fields[:n:n], sc.Fields[n:]
}

// variables are what a site may have by name.
type variables struct {
	all   []reader.Variable
	err   error  // why some are missing
	where string // "in scope here"
}

func (v *variables) find(name string) *reader.Variable { return findVariable(v.all, name) }

func findVariable(all []reader.Variable, name string) *reader.Variable {
	if i := slices.IndexFunc(all, func(v reader.Variable) bool { return v.Name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// lackingVariable is the error for a name that no variable has.
type lackingVariable struct{ error }

// lack returns the error for a variable that is missing.
func (v *variables) lack(name string) error {
	if v.err != nil {
		return v.err
	}
	var names []string
	for i := range v.all {
		names = append(names, v.all[i].Name)
	}
	if len(names) == 0 {
		return lackingVariable{fmt.Errorf("no variable is %s", v.where)}
	}
	return lackingVariable{fmt.Errorf("no variable %s is %s%s", name, v.where, selector.Nearly(name, names))}
}

// typed returns what the function of p has by names and types of debugging information: its
// arguments or, at its return, its results. It returns nil if they are not known, or if nobody
// asks for them: then nothing is read to find them.
func (b *Binder) typed(p *reader.Probe) *variables {
	if p.Target == nil || p.Source != nil || p.Displacement() != 0 && !p.AtRET || !b.wantsTypes(p) {
		return nil
	}
	b.Types.Read(p)
	switch t := p.Target.Typed; {
	case t == nil || !t.Known:
		return nil
	case p.Kind == reader.Uretprobe:
		return &variables{t.Results, t.Err, "a result of the function"}
	default:
		return &variables{t.Arguments, t.Err, "an argument of the function"}
	}
}

// wantsTypes reports whether somebody asks for arguments of functions that are not named as words.
func (b *Binder) wantsTypes(p *reader.Probe) bool {
	if b.Args.variable != "" {
		return true
	}
	if b.Args.all && (b.Aggregate == nil || b.Aggregate.Whole()) {
		return p.Kind != reader.Uretprobe || !b.wordOf(retval)
	}
	return slices.ContainsFunc(b.namesUsed(), b.isVariable)
}

// isVariable reports whether a name may be that of a variable.
func (b *Binder) isVariable(name string) bool {
	if name == "" || name == "probe" || name == query.Stack || isArgName(name) || b.wordOf(name) {
		return false
	}
	i := query.TaskKeyOf(name)
	return i < 0 || query.TaskKeys[i].What != ""
}

// wordOf reports whether an option says how the word called name is read.
func (b *Binder) wordOf(name string) bool {
	_, typed := b.Args.types[name]
	return typed || slices.ContainsFunc(b.Strings, func(t StringArg) bool { return t.arg == name && !t.implied })
}

// reads of all that is shown without having been named.
const shownReads = 24

// shownVariables returns the names of the variables that events hold. Unless some are named, that
// are the arguments themselves, what structures among them consist of, and text in structures to
// which arguments point.
func (b *Binder) shownVariables(p *reader.Probe, all *variables) (names []string) {
	if b.Args.all {
		return all.usual()
	}
	other := p.Target.Typed.Results
	if p.Kind == reader.Uretprobe {
		other = p.Target.Typed.Arguments
		if b.Args.result || len(b.Args.names) == 0 {
			names = all.usual()
		}
	}
	for _, name := range b.Args.names {
		if isArgName(name) || slices.Contains(names, name) || findVariable(other, name) != nil && all.find(name) == nil {
			continue
		}
		names = append(names, name)
	}
	return names
}

// usual returns what is shown unless something is named.
func (v *variables) usual() (names []string) {
	lengths := map[string]bool{}
	for i := range v.all {
		lengths[v.all[i].Length] = true
	}
	left := shownReads
	for _, behind := range []bool{false, true} {
		for i := range v.all {
			x := &v.all[i]
			member := strings.Contains(x.Name, ".") && !strings.HasPrefix(x.Name, retval+".")
			reads := 1
			if x.Kind == reader.String {
				reads = 3
			}
			switch {
			case x.Behind != behind || lengths[x.Name] || behind && x.Kind != reader.String:
			case member && (x.Err != nil || reads > left):
			default:
				left -= reads
				names = append(names, x.Name)
			}
		}
	}
	return names
}

// unshownVariables returns the names of variables that are not shown, but that the condition or
// the aggregation names.
func (b *Binder) unshownVariables(p *reader.Probe, all *variables) (names []string) {
	shown := b.shownVariables(p, all)
	for _, name := range b.namesUsed() {
		if b.isVariable(name) && all.find(name) != nil && !slices.Contains(shown, name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// seeVariables notes which variables of Options.Args a probe has.
func (u *OptionUse) seeVariables(sc *Schema, p *reader.Probe) {
	for i, name := range u.variables {
		j := slices.IndexFunc(sc.Fields, func(f shape.Field) bool { return f.Name == name })
		var lacks lackingVariable
		switch {
		case p.Target == nil && p.Source == nil:
		case j >= 0 && !errors.As(sc.Fields[j].Err, &lacks):
			u.usesVariable[i] = true
		case u.noVariable[i] != nil:
		case j >= 0:
			u.noVariable[i] = fmt.Errorf("%s: %w", site.Name(p), lacks)
		case p.Target != nil && p.Source == nil && (p.Target.Typed == nil || !p.Target.Typed.Known):
			u.noVariable[i] = fmt.Errorf("%s has no debugging information that names its arguments: it has arg0, arg1 and so on, and retval", site.Name(p))
		}
	}
}
