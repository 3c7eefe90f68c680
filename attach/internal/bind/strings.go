package bind

import (
	"debug/elf"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-usdt/usdt/attach/internal/argument"
	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// StringArg is one of Options.Strings.
type StringArg struct {
	probes *selector.Selector // nil for all
	arg    string
	follow bool // the string's address is what arg points to, at offset
	offset int64
	length string // the argument that holds the length; empty for a string up to a NUL

	most    int          // bytes in which the string is stored, or elements of an array; 0 if it is elsewhere
	element *shape.Field // of an array

	wide    bool // UTF-16, whose length counts units
	implied bool // nobody asked for it by name: a condition compares the argument with a string
}

// errStringArg says which forms an element of Options.Strings can have.
var errStringArg = errors.New("want argN, argN[argM] or argN->OFFSET, with PROVIDER:NAME: before it for some probes only")

func parseString(s string) (StringArg, error) {
	fail := func(err error) (StringArg, error) { return StringArg{}, fmt.Errorf("string argument %q: %w", s, err) }
	var t StringArg
	t.arg = s
	if colon := strings.LastIndexByte(s, ':'); colon >= 0 {
		probes, err := selector.Parse(s[:colon])
		if err != nil {
			return fail(err)
		}
		if probes.Kind != reader.USDT {
			return fail(errStringArg)
		}
		t.probes, t.arg = &probes, s[colon+1:]
	}
	if open := strings.IndexByte(t.arg, '['); open >= 0 {
		var closed bool
		if t.length, closed = strings.CutSuffix(t.arg[open+1:], "]"); !closed || !isName(t.length) {
			return fail(errStringArg)
		}
		t.arg = t.arg[:open]
	}
	if arrow := strings.Index(t.arg, "->"); arrow >= 0 {
		n, err := strconv.ParseUint(t.arg[arrow+2:], 0, 31)
		if err != nil {
			return fail(errStringArg)
		}
		t.arg, t.follow, t.offset = t.arg[:arrow], true, int64(n)
	}
	if !isName(t.arg) && (t.arg != retval || t.length != "") {
		return fail(errStringArg)
	}
	return t, nil
}

// isName reports whether s is argN, or may be the name of an argument of a function of the kernel.
func isName(s string) bool {
	for i, c := range s {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	number, numbered := strings.CutPrefix(s, "arg")
	numbered = numbered && (number == "" || number[0] >= '0' && number[0] <= '9')
	return s != "" && s != retval && (!numbered || isArgName(s))
}

func isArgName(s string) bool {
	_, ok := shape.ArgNumber(s)
	return ok
}

// ParseStrings returns what Options.Strings say.
func ParseStrings(all []string) ([]StringArg, error) {
	var args []StringArg
	for _, s := range all {
		t, err := parseString(s)
		if err != nil {
			return nil, err
		}
		args = append(args, t)
	}
	return args, nil
}

// ConditionStrings returns the arguments of untyped probes that a condition compares
// with a string: events hold what they were compared with.
func ConditionStrings(expr *filter.Expr) (args []StringArg) {
	for _, name := range expr.StringNames() {
		if isArgName(name) || name == retval {
			args = append(args, StringArg{arg: name, implied: true})
		}
	}
	return args
}

// reads returns how many reads a string takes beside its pointer's.
func (t *StringArg) reads() int {
	switch {
	case t == nil:
		return 0
	case t.length == "" && t.element == nil:
		return 1
	}
	return 2
}

// stringArg returns how argument arg of p is to be read as a string, nil if it is not.
// An option for some probes comes first; one for all applies to every argument
// that may be a pointer, as NULL may, if the probe has the argument for the length. Then comes what
// is known of the argument, nil if it is not known to be text.
func (b *Binder) stringArg(p *reader.Probe, arg string, op *operand.Operand, isFloat bool, known *StringArg) *StringArg {
	word := uint8(8)
	if p.Class == elf.ELFCLASS32 {
		word = 4
	}
	var general *StringArg
	for i := range b.Strings {
		t := &b.Strings[i]
		if t.arg != arg || t.implied && known != nil {
			continue
		}
		if t.length == "" && !t.follow && p.Target != nil && p.Target.Convention.IsGo() {
			t = t.ofGo()
		}
		switch {
		case t.probes != nil && t.probes.Match(p.Path, p.Provider, p.Name):
			return t
		case t.probes != nil || general != nil || op.Kind == operand.Const && op.Value != 0 || op.Size != word || isFloat:
		case t.length == "" || lengthArg(p, t.length) != nil:
			general = t
		}
	}
	if general == nil && (op.Kind != operand.Const || op.Value == 0) {
		return known
	}
	return general
}

// ofGo returns how a string of a Go function is read: its length is the next
// argument.
func (t *StringArg) ofGo() *StringArg {
	counted := *t
	if i, ok := shape.ArgNumber(t.arg); ok {
		counted.length = shape.ArgName(i + 1)
	}
	return &counted
}

// lengthArg returns the argument that holds a length, nil if there is none.
func lengthArg(p *reader.Probe, name string) *notes.Arg {
	if p.Kind.HasFields() {
		if f := argument.Find(p.Kernel.Fields, name); f == nil || f.Err != nil {
			return nil
		}
		return &notes.Arg{}
	}
	if p.Kernel != nil && p.Kind.HasArguments() {
		args := p.Arguments()
		for i := range args {
			if (shape.ArgName(i) == name || p.Kernel.Types().Params[i].Name == name) && args[i].Err == nil {
				return &args[i]
			}
		}
		return nil
	}
	if p.Target != nil {
		i, _ := shape.ArgNumber(name)
		if a, err := p.Target.Argument(i); err == nil && p.Kind.HasArguments() {
			return &a
		}
		return nil
	}
	for i, a := range p.Arguments() {
		if shape.ArgName(i) == name && a.Err == nil && !a.Float {
			return &a
		}
	}
	return nil
}

// stringField is a field, by its index, that is to be read as a string. The field is
// bound to the pointer.
type stringField struct {
	field int
	*StringArg
}

// bindStrings makes fields strings. length returns the operand that holds a length,
// and its argument, nil if there is none.
func (s *Schema) bindStrings(strs []stringField, length func(string) (operand.Operand, *notes.Arg)) {
	reads := make([]record.String, len(strs))
	for i, t := range strs {
		f := &s.Fields[t.field]
		reads[i].Slot = f.Read
		if t.element != nil && t.length == "" {
			reads[i].Counted, reads[i].LengthSize, reads[i].Elem = true, 8, uint32(t.element.Size)
			reads[i].LengthSlot = s.Sig.Read(operand.Operand{Kind: operand.Const, Value: uint64(t.most), Size: 8})
			continue
		}
		reads[i].Max = t.most
		if t.length == "" {
			continue
		}
		op, a := length(t.length)
		if a == nil {
			f.Source, f.Err = shape.FromNowhere, fmt.Errorf("no argument %s holds its length", t.length)
			continue
		}
		reads[i].Counted, reads[i].LengthSlot = true, s.Sig.Read(op)
		reads[i].LengthSize, reads[i].LengthSigned = op.Size, a.Signed
		if t.wide {
			reads[i].Elem = 2
		}
		if t.element != nil {
			reads[i].Elem = uint32(t.element.Size)
		}
	}
	for i, t := range strs {
		f := &s.Fields[t.field]
		if f.Err != nil {
			continue
		}
		f.Source, f.Kind, f.Index, f.Wide = shape.FromString, reader.String, len(s.Sig.Strings), t.wide
		if t.element != nil {
			f.Source, f.Kind, f.Stride, f.Parts = shape.FromSlice, reader.Other, int(t.element.Size), []shape.Field{*t.element}
		}
		s.Sig.Strings = append(s.Sig.Strings, reads[i])
	}
}
