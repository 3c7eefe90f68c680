package filter

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/internal/grammar"
)

// MaxString is how many bytes of a string are compared; a constant cannot be longer.
const MaxString = grammar.MaxString

// Value describes what a name stands for at one probe.
type Value struct {
	Kind  Kind
	Size  uint8 // bytes of a number
	Index int   // chosen by the caller, to find the value of a Condition
	// Names has the numbers of names with which an integer can be compared; nil for none.
	Names Names
	// Written returns a text that the condition has as the program has it; nil if they are the same.
	Written func(text string) (string, error)
}

// Names are names of numbers, as an enumeration has them.
type Names interface {
	Value(name string) (number int64, ok bool)
	Names() []string
}

// Op is what a Condition does.
type Op uint8

const (
	And Op = iota // of Left and Right
	Or
	Not     // of Left
	Equal   // Equal to GreaterEqual compare the value with Bits
	Differs //
	Less
	LessEqual
	Greater
	GreaterEqual
	Match // compares a string with Pattern
	Miss  // the reverse
)

// Condition is an Expr fitted to a probe. A comparison with a value that cannot
// be read, or with a NaN, is false, also by Differs and Miss.
type Condition struct {
	Op          Op
	Left, Right *Condition
	Value       Value
	// Bits is the constant, compared as a signed number if Signed; for a Float
	// after [FloatOrder].
	Bits    uint64
	Signed  bool
	Pattern Pattern
	// Steps compute what is compared instead of Value, whose Index means nothing then;
	// nil if nothing is computed. If a value that they need cannot be read, or if they
	// divide by zero, the comparison is false.
	Steps []Step
	// Prefix is how many bytes of a string are compared, as if it ended there; 0 for all.
	Prefix int
}

// FloatOrder maps the bits of a 64-bit floating-point number, or the bits of a
// 32-bit one shifted left by 32, to an integer of the same order.
func FloatOrder(bits uint64) int64 {
	if bits<<1 == 0 { // -0
		return 0
	}
	if int64(bits) < 0 {
		return int64(bits ^ math.MaxInt64)
	}
	return int64(bits)
}

// Names returns the names in the condition.
func (e *Expr) Names() (names []string) {
	e.comparisons(func(c *Expr) { names = c.value.names(names) })
	return names
}

// Conjuncts returns the conditions that all have to hold for this one to hold.
func (e *Expr) Conjuncts() []*Expr {
	if e.kind != exprAnd {
		return []*Expr{e}
	}
	return append(e.left.Conjuncts(), e.right.Conjuncts()...)
}

// StringNames returns the names that are compared with strings and with nothing
// else.
func (e *Expr) StringNames() []string {
	var names, others []string
	e.comparisons(func(c *Expr) {
		switch {
		case c.value.kind == termPrefix, c.value.kind == termName && c.kind == exprCompare && c.constant.Kind == String:
			names = append(names, c.value.name)
		default:
			others = c.value.names(others)
		}
	})
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return slices.Contains(others, name) })
}

// comparisons calls f with each comparison, and each name that is used as a bool.
func (e *Expr) comparisons(f func(*Expr)) {
	if e.left == nil {
		f(e)
		return
	}
	e.left.comparisons(f)
	if e.right != nil {
		e.right.comparisons(f)
	}
}

// Check fits the condition to a probe. lookup returns what a name stands for;
// isString says that the name is compared with a string. An error of Check is an
// [*Error].
func (e *Expr) Check(lookup func(name string, isString bool) (Value, error)) (*Condition, error) {
	switch e.kind {
	case exprAnd, exprOr, exprNot:
		left, err := e.left.Check(lookup)
		if err != nil {
			return nil, err
		}
		if e.kind == exprNot {
			return &Condition{Op: Not, Left: left}, nil
		}
		right, err := e.right.Check(lookup)
		op := And
		if e.kind == exprOr {
			op = Or
		}
		return &Condition{Op: op, Left: left, Right: right}, err
	}
	c := &Condition{}
	if e.value.kind == termOperation {
		var err error
		c.Value.Size = 8
		if c.Steps, c.Value.Kind, err = e.lexer.compute(e.value, lookup); err != nil {
			return nil, err
		}
		return c, e.compare(c)
	}
	v, err := lookup(e.value.name, e.constant.Kind == String || e.value.kind == termPrefix)
	if err != nil {
		return nil, e.lexer.fail(e.value.pos, "%v", err)
	}
	c.Value = v
	if e.value.kind == termPrefix {
		if v.Kind != String {
			return nil, e.lexer.fail(e.value.pos, "%s is %v: only text has a beginning", e.value.name, v.Kind)
		}
		c.Prefix, c.Value.Names = e.value.bytes, nil
	}
	if e.kind == exprTruth {
		if v.Kind != Bool {
			return nil, e.lexer.fail(e.value.pos, "%s is %v, not a condition: compare it with a constant", e.value.name, v.Kind)
		}
		c.Op = Differs
		return c, nil
	}
	return c, e.compare(c)
}

var examples = map[Kind]string{Duration: "10ms", Time: "2026-01-31 or \"2026-01-31T23:59:59Z\"", Address: "10.0.0.1 or \"::1\""}

var compareOps = map[string]Op{"==": Equal, "!=": Differs, "<": Less, "<=": LessEqual, ">": Greater, ">=": GreaterEqual}

func (e *Expr) compare(c *Condition) error {
	k := &e.constant
	name := e.lexer.input[e.value.pos:e.value.end]
	mismatch := e.lexer.fail(e.constPos, "%s is %v, and is compared with %v", name, c.Value.Kind, k.Kind)
	if e.operator == "~" && (c.Value.Kind != String && c.Value.Kind != Hex || k.Kind != String) {
		return e.lexer.fail(e.opPos, "~ compares a string with a pattern, and %s is %v", name, c.Value.Kind)
	}
	c.Op = compareOps[e.operator]
	switch c.Value.Kind {
	case Duration, Time:
		meant, ok := k.as(c.Value.Kind)
		if !ok {
			return e.lexer.fail(e.constPos, "%s is %v: compare it with one, such as %s", name, c.Value.Kind, examples[c.Value.Kind])
		}
		c.compareInteger(&meant, true)
	case Hex:
		return e.compareHex(c)
	case Address, NetIP:
		meant, ok := k.as(Address)
		if !ok {
			return e.lexer.fail(e.constPos, "%s is an address: compare it with one, such as %s", name, examples[Address])
		}
		switch e.operator {
		case "==":
			c.Op = Match
		case "!=":
			c.Op = Miss
		default:
			return e.lexer.fail(e.opPos, "addresses are compared by == and != only")
		}
		c.Pattern = Pattern{Pieces: []string{meant.Literal}}
		if c.Value.Kind == NetIP {
			c.orMapped()
		}
	case String:
		if k.Kind != String {
			return mismatch
		}
		if len(k.Literal) > MaxString {
			return e.lexer.fail(e.constPos, "a string to compare with has at most %d bytes", MaxString)
		}
		switch e.operator {
		case "==", "~":
			c.Op = Match
		case "!=":
			c.Op = Miss
		default:
			return e.lexer.fail(e.opPos, "strings are compared by ==, != and ~ only")
		}
		literal, glob := k.Literal, k.glob
		if written := c.Value.Written; written != nil {
			var err error
			if literal, err = written(literal); err != nil && e.operator != "~" {
				return e.lexer.fail(e.constPos, "%v", err)
			}
			if as, err := written(glob); err == nil {
				glob = as
			}
		}
		if e.operator == "~" {
			c.Pattern = parsePattern(glob)
		} else {
			c.Pattern = Pattern{Pieces: []string{literal}}
		}
	case Bool:
		if k.Kind != Bool {
			return mismatch
		}
		if c.Op != Equal && c.Op != Differs {
			return e.lexer.fail(e.opPos, "bools are compared by == and != only")
		}
		// A bool is true if it differs from 0.
		if (c.Op == Equal) == k.True {
			c.Op = Differs
		} else {
			c.Op = Equal
		}
	case Float:
		f := k.Float
		switch {
		case k.Kind == Int && k.Negative:
			f = -float64(k.Uint)
		case k.Kind == Int:
			f = float64(k.Uint)
		case k.Kind != Float:
			return mismatch
		}
		bits := math.Float64bits(f)
		if c.Value.Size == 4 {
			bits = uint64(math.Float32bits(float32(f))) << 32
		}
		c.Signed, c.Bits = true, uint64(FloatOrder(bits))
	case Int, Uint:
		if k.Kind == String && c.Value.Names != nil {
			return e.compareName(c)
		}
		if k.Kind != Int {
			return mismatch
		}
		c.compareInteger(k, c.Value.Kind == Int)
	}
	return nil
}

// compareName compares a number with one that has a name.
func (e *Expr) compareName(c *Condition) error {
	k, err := e.lexer.named(&c.Value, e.value.name, e.constant.Literal, e.constPos)
	switch {
	case err != nil:
		return err
	case c.Op != Equal && c.Op != Differs:
		return e.lexer.fail(e.opPos, "names of numbers are compared by == and != only, and of bits also by &")
	}
	c.compareInteger(&k, c.Value.Kind == Int)
	return nil
}

// named returns the number that v, which the condition calls variable, has under a name. The name stands at pos.
func (l *lexer) named(v *Value, variable, name string, pos int) (k Constant, err error) {
	n, ok := v.Names.Value(name)
	if !ok {
		return k, l.fail(pos, "%s has no value %q: it has %s", variable, name, someOf(v.Names.Names()))
	}
	k.set(Int, n)
	if n < 0 && v.Kind == Uint { // a compiler has left out the sign
		k.Uint, k.Negative = uint64(n)&(1<<(8*v.Size)-1), false
	}
	return k, nil
}

// compareInteger compares an integer with k. A constant beyond the argument's
// range gives the answer without reading the argument.
func (c *Condition) compareInteger(k *Constant, signed bool) {
	c.Signed = signed
	c.Bits = k.Uint
	if k.Negative {
		c.Bits = -k.Uint
	}
	below := !c.Signed && k.Negative && k.Uint > 0
	above := c.Signed && !k.Negative && k.Uint > math.MaxInt64
	if !below && !above {
		return
	}
	c.Signed, c.Bits = false, 0
	isTrue := c.Op == Differs || below && (c.Op == Greater || c.Op == GreaterEqual) || above && (c.Op == Less || c.Op == LessEqual)
	if c.Op = Less; isTrue { // never less than 0, always at least
		c.Op = GreaterEqual
	}
}

// someOf lists names, and says how many more there are.
func someOf(names []string) string {
	const most = 16
	out := strings.Join(names[:min(most, len(names))], ", ")
	if more := len(names) - most; more > 0 {
		out += fmt.Sprintf(" and %d more", more)
	}
	return out
}
