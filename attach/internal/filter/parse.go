package filter

import (
	"fmt"

	"github.com/go-usdt/usdt/internal/grammar"
)

// Kind is a kind of value.
type Kind uint8

const (
	Uint Kind = iota + 1
	Int
	Float
	Bool
	String
	Duration // nanoseconds, a signed integer
	Time     // nanoseconds since 1970, a signed integer; see notes.TimeType
	Address  // as a string: the bytes of an IP address
	NetIP    // as Address, but an IPv4 address may have 16 bytes
	Hex      // as a string: the bytes of an identifier
)

func (k Kind) String() string {
	switch k {
	case Uint:
		return "an unsigned integer"
	case Int:
		return "an integer"
	case Float:
		return "a floating-point number"
	case Bool:
		return "a bool"
	case String:
		return "a string"
	case Duration:
		return "a duration"
	case Time:
		return "a time"
	case Address, NetIP:
		return "an address"
	case Hex:
		return "an identifier"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Constant is a value that a condition compares with.
type Constant struct {
	Kind     Kind   // Int, Float, Bool, String, Duration, Time or Address
	Literal  string // the value of a String; for other kinds what was written
	glob     string // a String as a pattern: literal stars have a backslash
	Uint     uint64 // Int without its sign, or nanoseconds of Duration and Time
	Negative bool
	Float    float64
	True     bool
}

type exprKind uint8

const (
	exprAnd exprKind = iota
	exprOr
	exprNot
	exprCompare
	exprTruth // a bool
	exprValue // no condition, but what may be part of one
)

// Expr is a condition as it was written.
type Expr struct {
	lexer       *lexer
	kind        exprKind
	left, right *Expr

	value    *term // that is compared, or is a bool
	operator string
	opPos    int
	constant Constant
	constPos int
}

// Parse parses a condition. An error is an [*Error].
func Parse(input string) (*Expr, error) {
	p := &parser{lexer: lexer{input: input}}
	e, err := p.whole()
	if err != nil {
		return nil, err
	}
	return p.condition(e)
}

type parser struct {
	lexer
	token token // the next one
}

// whole parses all of the input.
func (p *parser) whole() (*Expr, error) {
	if len(p.input) > grammar.MaxInput {
		return nil, p.fail(0, "a condition has at most %d bytes", grammar.MaxInput)
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	e, err := p.or(0)
	if err != nil {
		return nil, err
	}
	if p.token.kind != tokenEnd {
		what := "a complete condition"
		if e.kind == exprValue {
			what = "a complete expression"
		}
		return nil, p.fail(p.token.pos, "%q follows %s; combine conditions by && or ||", p.token.text, what)
	}
	return e, nil
}

func (p *parser) advance() (err error) {
	p.token, err = p.next()
	return err
}

func (p *parser) at(symbol string) bool { return p.token.kind == tokenSymbol && p.token.text == symbol }

func (p *parser) tooDeep() *Error {
	return p.fail(p.token.pos, "conditions nest at most %d deep", grammar.MaxDepth)
}

// condition returns e if it is a condition, or a bool.
func (p *parser) condition(e *Expr) (*Expr, error) {
	if e.kind != exprValue {
		return e, nil
	}
	t := e.value
	switch text := p.input[t.pos:t.end]; t.kind {
	case termName:
		return &Expr{lexer: &p.lexer, kind: exprTruth, value: t}, nil
	case termConstant:
		return nil, p.fail(t.pos, "%s is compared with nothing", text)
	case termOperation:
		if t.masksName() {
			return &Expr{lexer: &p.lexer, kind: exprCompare, value: t, operator: "!=", opPos: t.opPos, constant: Constant{Kind: Int, Literal: "0"}, constPos: t.right.pos}, nil
		}
		if t.is("&") {
			return nil, p.fail(t.opPos, "%s is an integer, not a condition: compare it with a constant, or combine conditions by &&", text)
		}
		return nil, p.fail(t.pos, "%s is an integer, not a condition: compare it with a constant", text)
	default:
		return nil, p.fail(t.pos, "%s is a text, not a condition: compare it with a constant", text)
	}
}

func (p *parser) or(depth int) (*Expr, error) {
	return p.chain("||", exprOr, depth, func(depth int) (*Expr, error) {
		return p.chain("&&", exprAnd, depth, p.comparison)
	})
}

// chain parses operands between operators of one precedence. The tree leans to
// the left: its depth is bounded by grammar.MaxInput.
func (p *parser) chain(symbol string, kind exprKind, depth int, operand func(int) (*Expr, error)) (*Expr, error) {
	left, err := operand(depth)
	for err == nil && p.at(symbol) {
		if left, err = p.condition(left); err != nil {
			break
		}
		if err = p.advance(); err != nil {
			break
		}
		var right *Expr
		if right, err = operand(depth); err != nil {
			break
		}
		right, err = p.condition(right)
		left = &Expr{lexer: &p.lexer, kind: kind, left: left, right: right}
	}
	return left, err
}

// comparison parses two values and how they are compared, or one value, or what stands
// in parentheses. '!' applies to the whole.
func (p *parser) comparison(depth int) (*Expr, error) {
	if p.at("!") {
		if depth == grammar.MaxDepth {
			return nil, p.tooDeep()
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
		e, err := p.comparison(depth + 1)
		if err == nil {
			e, err = p.condition(e)
		}
		return &Expr{lexer: &p.lexer, kind: exprNot, left: e}, err
	}
	left, err := p.sum(depth)
	if err != nil {
		return nil, err
	}
	op := p.token
	if _, ok := grammar.Mirrored[op.text]; op.kind != tokenSymbol || !ok && op.text != "~" {
		return left, nil
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if !p.atValue() {
		return nil, p.fail(p.token.pos, "want a constant after %s", op.text)
	}
	right, err := p.sum(depth)
	if err != nil {
		return nil, err
	}
	if left.kind != exprValue || right.kind != exprValue {
		return nil, p.fail(op.pos, "%s compares values, not conditions", op.text)
	}
	return p.compare(op, left.value, right.value)
}

// compare returns the comparison of two terms, of which one is constant.
func (p *parser) compare(op token, left, right *term) (*Expr, error) {
	named := func(t *term) bool { return len(t.names(nil)) > 0 }
	if named(left) == named(right) {
		if right.is("&") {
			return nil, p.fail(right.opPos, "to combine conditions write &&")
		}
		return nil, p.fail(left.pos, "compare the name of an argument with a constant: the name of a number is in quotes")
	}
	e := &Expr{lexer: &p.lexer, kind: exprCompare, operator: op.text, opPos: op.pos}
	if !named(left) {
		if op.text == "~" {
			return nil, p.fail(right.pos, "the pattern is a string to the right of ~")
		}
		left, right, e.operator = right, left, grammar.Mirrored[op.text]
	}
	if left.kind == termCall {
		return nil, p.fail(left.pos, "%s makes keys of groups, and cannot be compared", p.input[left.pos:left.end])
	}
	var err error
	e.value, e.constPos = left, right.pos
	e.constant, err = p.fold(right)
	return e, err
}
