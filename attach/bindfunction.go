package attach

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// retval is the name of a function's result.
const retval = "retval"

// errInstruction is why an instruction within a function has no arguments.
var errInstruction = errors.New("a function has its arguments in their registers only at its entry")

// bindFunction reads the arguments at a function's entry, or its result.
func (b *binder) bindFunction(sc *schema, s *Site, regs *operand.Registers) {
	p := &s.Probe
	sc.named = true
	if p.Kind == reader.Uretprobe {
		arg, err := p.Target.Result()
		b.args.retype(&arg, retval)
		sc.fields = []field{{name: retval, kind: kindOf(arg), err: err}}
		if err == nil {
			b.bindArguments(sc, s, regs, []notes.Arg{arg})
		}
		return
	}
	shown := b.shownArguments(p)
	looked := b.lookedAtArguments(shown)
	var args []notes.Arg
	for _, i := range slices.Concat(shown, looked) {
		arg, err := p.Target.Argument(i)
		if p.Displacement() != 0 {
			err = errInstruction
		}
		if err != nil {
			arg.Err = err
		}
		b.args.retype(&arg, argName(i))
		args = append(args, arg)
		sc.fields = append(sc.fields, field{name: argName(i), kind: kindOf(arg)})
	}
	b.bindArguments(sc, s, regs, args)
	n := len(shown)
	sc.fields, sc.looked = sc.fields[:n:n], sc.fields[n:]
}

// shownArguments returns the numbers of the arguments that events hold.
func (b *binder) shownArguments(p *reader.Probe) []int {
	var out []int
	if b.args.all {
		for i := range p.Arguments() {
			out = append(out, i)
		}
	}
	names := slices.Clone(b.args.names)
	for i := range b.texts {
		if t := &b.texts[i]; t.probes == nil || t.probes.Match(p.Path, p.Provider, p.Name) {
			names = append(names, t.arg)
		}
	}
	return appendArguments(out, names, nil)
}

// lookedAtArguments returns the numbers of arguments that are not shown but
// that the condition or the aggregation names.
func (b *binder) lookedAtArguments(shown []int) []int {
	var names []string
	if b.where != nil {
		names = b.where.Names()
	}
	if b.aggregate != nil {
		names = append(append(names, b.aggregate.wanted.by...), b.aggregate.wanted.value)
		if b.aggregate.pairs != nil {
			names = append(names, b.aggregate.pairs.key...)
		}
	}
	return appendArguments(nil, names, shown)
}

// appendArguments appends the numbers that names stand for and that are not
// among others, each once.
func appendArguments(out []int, names []string, others []int) []int {
	for _, name := range names {
		if i, ok := argNumber(name); ok && !slices.Contains(out, i) && !slices.Contains(others, i) {
			out = append(out, i)
		}
	}
	return out
}

// argNumber undoes argName.
func argNumber(name string) (int, bool) {
	digits, ok := strings.CutPrefix(name, "arg")
	if !ok {
		return 0, false
	}
	i, err := strconv.Atoi(digits)
	return i, err == nil && i >= 0 && argName(i) == name
}
