package filter

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-usdt/usdt/internal/grammar"
)

type termKind uint8

const (
	termName      termKind = iota
	termConstant           // constant
	termPrefix             // the first bytes of a name
	termCall               // of a function with a name
	termOperation          // of left and right
)

// term is a value as it was written.
type term struct {
	kind     termKind
	pos, end int // where it stands

	name     string // of termName, termPrefix and termCall
	function string
	bytes    int // of termPrefix
	constant Constant

	operator    string
	opPos       int
	left, right *term
}

// names appends the names in the term.
func (t *term) names(all []string) []string {
	switch t.kind {
	case termConstant:
		return all
	case termOperation:
		return t.right.names(t.left.names(all))
	}
	return append(all, t.name)
}

// masksName reports whether the term is NAME & "BIT".
func (t *term) masksName() bool {
	return t.is("&") && t.left.kind == termName && t.right.kind == termConstant && t.right.constant.Kind == String
}

// is reports whether the term is an operation by operator.
func (t *term) is(operator string) bool { return t.kind == termOperation && t.operator == operator }

// sum parses operands between + and -.
func (p *parser) sum(depth int) (*Expr, error) {
	return p.operations(depth, p.product, grammar.Sums)
}

// product parses operands between operators that bind tighter than + and -, which are
// Go's.
func (p *parser) product(depth int) (*Expr, error) {
	return p.operations(depth, p.negative, grammar.Products)
}

func (p *parser) operations(depth int, operand func(int) (*Expr, error), operators []string) (*Expr, error) {
	left, err := operand(depth)
	for err == nil && p.token.kind == tokenSymbol {
		op := p.token
		if !slices.Contains(operators, op.text) {
			break
		}
		if err = p.advance(); err != nil {
			break
		}
		if !p.atValue() {
			return nil, p.fail(p.token.pos, "want an argument or a number after %s", op.text)
		}
		var right *Expr
		if right, err = operand(depth); err != nil {
			break
		}
		for _, side := range []*Expr{left, right} {
			if side.kind != exprValue {
				return nil, p.fail(op.pos, "%s is of integers, not of conditions", op.text)
			}
		}
		left = p.operation(op, left.value, right.value)
	}
	return left, err
}

func (p *parser) operation(op token, left, right *term) *Expr {
	return p.valued(&term{kind: termOperation, pos: left.pos, end: right.end, operator: op.text, opPos: op.pos, left: left, right: right})
}

func (p *parser) valued(t *term) *Expr { return &Expr{lexer: &p.lexer, kind: exprValue, value: t} }

// negative parses a value with signs in front.
func (p *parser) negative(depth int) (*Expr, error) {
	sign := p.token
	if !p.at("-") && !p.at("+") {
		return p.primary(depth)
	}
	if depth == grammar.MaxDepth {
		return nil, p.tooDeep()
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	e, err := p.negative(depth + 1)
	switch {
	case err != nil:
		return nil, err
	case e.kind != exprValue:
		return nil, p.fail(sign.pos, "%s is of integers, not of conditions", sign.text)
	case sign.text == "+":
		return e, nil
	}
	zero := &term{kind: termConstant, pos: sign.pos, end: sign.pos, constant: Constant{Kind: Int, Literal: "0"}}
	return p.operation(token{text: "-", pos: sign.pos}, zero, e.value), nil
}

// atValue reports whether the next token may begin a value.
func (p *parser) atValue() bool {
	return p.token.kind == tokenName || p.token.kind == tokenConstant || p.at("(") || p.at("-") || p.at("+")
}

// primary parses a name, with what belongs to it, a constant, or what is in parentheses.
func (p *parser) primary(depth int) (*Expr, error) {
	first := p.token
	t := &term{pos: first.pos, end: first.pos + len(first.text)}
	switch {
	case p.at("("):
		return p.parentheses(depth)
	case first.kind == tokenConstant:
		t.kind, t.constant = termConstant, first.constant
		return p.valued(t), p.advance()
	case first.kind != tokenName:
		return nil, p.fail(first.pos, "want the name of an argument, %s, a constant, '!' or '('", strings.Join(grammar.TaskKeys, ", "))
	}
	t.name = first.text
	if err := p.advance(); err != nil {
		return nil, err
	}
	switch {
	case p.at("[:"):
		return p.valued(t), p.prefix(t)
	case p.at("("):
		return p.valued(t), p.call(t)
	}
	return p.valued(t), nil
}

func (p *parser) parentheses(depth int) (*Expr, error) {
	open := p.token.pos
	if depth == grammar.MaxDepth {
		return nil, p.tooDeep()
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	e, err := p.or(depth + 1)
	if err != nil {
		return nil, err
	}
	if !p.at(")") {
		return nil, p.fail(p.token.pos, "the '(' of column %d is not closed", p.fail(open, "").Column)
	}
	if e.kind == exprValue {
		inside := *e.value
		inside.pos, inside.end = open, p.token.pos+1
		e = p.valued(&inside)
	}
	return e, p.advance()
}

// prefix parses the number of bytes behind "[:".
func (p *parser) prefix(t *term) error {
	if err := p.advance(); err != nil {
		return err
	}
	n := p.token.constant
	if p.token.kind != tokenConstant || n.Kind != Int || n.Negative || n.Uint == 0 || n.Uint > MaxString {
		return p.fail(p.token.pos, "want a number of bytes from 1 to %d after [:", MaxString)
	}
	t.kind, t.bytes = termPrefix, int(n.Uint)
	if err := p.advance(); err != nil {
		return err
	}
	if !p.at("]") {
		return p.fail(p.token.pos, "want ] after %s[:%s", t.name, strconv.Itoa(t.bytes))
	}
	t.end = p.token.pos + 1
	return p.advance()
}

// call parses the argument of a function.
func (p *parser) call(t *term) error {
	if err := p.advance(); err != nil {
		return err
	}
	if p.token.kind != tokenName {
		return p.fail(p.token.pos, "want the name of an argument after %s(", t.name)
	}
	t.kind, t.function, t.name = termCall, t.name, p.token.text
	if err := p.advance(); err != nil {
		return err
	}
	if !p.at(")") {
		return p.fail(p.token.pos, "want ) after %s(%s", t.function, t.name)
	}
	t.end = p.token.pos + 1
	return p.advance()
}

// number is what is known of a result. An operation is signed if one of its operands
// is, and if it subtracts.
type number struct{ signed, duration bool }

func (n number) kind() Kind {
	switch {
	case n.duration:
		return Duration
	case n.signed:
		return Int
	}
	return Uint
}

// computation turns a term into steps.
type computation struct {
	lexer   *lexer
	lookup  func(name string, isString bool) (Value, error)
	steps   []Step
	loads   int
	pending int // results that wait
}

// compute returns the steps by which a term is computed, and the kind of its result.
func (l *lexer) compute(t *term, lookup func(name string, isString bool) (Value, error)) ([]Step, Kind, error) {
	c := computation{lexer: l, lookup: lookup}
	n, err := c.push(t)
	return c.steps, n.kind(), err
}

// push appends the steps that push the value of a term.
func (c *computation) push(t *term) (n number, err error) {
	switch t.kind {
	case termPrefix:
		return n, c.lexer.fail(t.pos, "%s is the beginning of a text, and expressions are of integers", c.lexer.input[t.pos:t.end])
	case termCall:
		return n, c.lexer.fail(t.pos, "%s is a text, and expressions are of integers", c.lexer.input[t.pos:t.end])
	case termOperation:
		return c.operate(t)
	}
	if c.loads++; c.loads > grammar.MaxOperands {
		return n, c.lexer.fail(t.pos, "an expression has at most %d operands", grammar.MaxOperands)
	}
	if c.pending > grammar.MaxPending {
		return n, c.lexer.fail(t.pos, "an expression nests at most %d deep", grammar.MaxPending)
	}
	if t.kind == termConstant {
		k := &t.constant
		if k.Kind != Int && k.Kind != Duration {
			return n, c.lexer.fail(t.pos, "%s is %v, and expressions are of integers and durations", c.lexer.input[t.pos:t.end], k.Kind)
		}
		c.steps = append(c.steps, Step{Op: Push, Bits: k.bits()})
		return number{signed: k.Negative || k.Kind == Duration, duration: k.Kind == Duration}, nil
	}
	v, err := c.lookup(t.name, false)
	if err != nil {
		return n, c.lexer.fail(t.pos, "%v", err)
	}
	if v.Kind != Int && v.Kind != Uint && v.Kind != Duration {
		return n, c.lexer.fail(t.pos, "%s is %v, and expressions are of integers and durations", t.name, v.Kind)
	}
	c.steps = append(c.steps, Step{Op: Load, Value: v})
	return number{signed: v.Kind != Uint, duration: v.Kind == Duration}, nil
}

// bits returns the integer, extended to 64 bits by its sign.
func (k *Constant) bits() uint64 {
	if k.Negative {
		return -k.Uint
	}
	return k.Uint
}

func (c *computation) operate(t *term) (n number, err error) {
	if t.masksName() {
		return c.maskName(t)
	}
	left, err := c.push(t.left)
	if err != nil {
		return n, err
	}
	c.pending++
	right, err := c.push(t.right)
	if err != nil {
		return n, err
	}
	c.pending--
	op := arithmetic[t.operator]
	last := &c.steps[len(c.steps)-1]
	n = number{signed: left.signed || right.signed, duration: left.duration || right.duration}
	switch op {
	case Divide, Remainder:
		if t.right.kind == termConstant && last.Bits == 0 {
			return n, c.lexer.fail(t.opPos, "%s divides by zero", c.lexer.input[t.pos:t.end])
		}
		n.duration = left.duration && (op == Remainder || !right.duration)
	case Multiply:
		if left.duration && right.duration {
			return n, c.lexer.fail(t.opPos, "durations are not multiplied by each other")
		}
	case ShiftLeft, ShiftRight:
		n = left
	}
	c.steps = append(c.steps, Step{Op: op, Signed: n.signed})
	n.signed = n.signed || op == Subtract
	return n, nil
}

// maskName pushes those bits of a number that a name has.
func (c *computation) maskName(t *term) (n number, err error) {
	name := t.left.name
	if c.loads += 2; c.loads > grammar.MaxOperands || c.pending >= grammar.MaxPending {
		return n, c.lexer.fail(t.pos, "an expression has at most %d operands, and nests at most %d deep", grammar.MaxOperands, grammar.MaxPending)
	}
	v, err := c.lookup(name, true)
	switch {
	case err != nil:
		return n, c.lexer.fail(t.left.pos, "%v", err)
	case v.Names == nil:
		return n, c.lexer.fail(t.right.pos, "the bits of %s have no names that are known: write a number", name)
	}
	k, err := c.lexer.named(&v, name, t.right.constant.Literal, t.right.pos)
	c.steps = append(c.steps, Step{Op: Load, Value: v}, Step{Op: Push, Bits: k.bits()}, Step{Op: Mask})
	return number{signed: v.Kind != Uint}, err
}

// fold returns the constant that a term without names is.
func (l *lexer) fold(t *term) (Constant, error) {
	if t.kind == termConstant {
		return t.constant, nil
	}
	steps, kind, err := l.compute(t, nil)
	if err != nil {
		return Constant{}, err
	}
	bits, failed := Compute(steps, nil)
	if failed >= 0 {
		return Constant{}, l.fail(t.pos, "%s divides by zero", l.input[t.pos:t.end])
	}
	var k Constant
	k.Kind, k.Literal, k.Uint = Int, l.input[t.pos:t.end], bits
	if kind == Duration {
		k.Kind = Duration
	}
	if kind != Uint && bits > math.MaxInt64 {
		k.Negative, k.Uint = true, -bits
	}
	return k, nil
}
