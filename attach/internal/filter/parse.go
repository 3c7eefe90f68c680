package filter

import "fmt"

// Limits on conditions.
const (
	maxInput = 8 << 10
	maxDepth = 64
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
	case Address:
		return "an address"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Constant is a value that a condition compares with.
type Constant struct {
	Kind     Kind   // Int, Float, Bool, String, Duration, Time or Address
	Literal  string // the value of a String; for other kinds what was written
	glob     string // a String as a pattern: literal stars have a backslash
	Uint     uint64 // Int without its sign, nanoseconds of Duration and Time too
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
)

// Expr is a condition as it was written.
type Expr struct {
	lexer       *lexer
	kind        exprKind
	left, right *Expr

	name     string
	namePos  int
	operator string
	opPos    int
	constant Constant
	constPos int
}

// Parse parses a condition. An error is an [*Error].
func Parse(input string) (*Expr, error) {
	p := &parser{lexer: lexer{input: input}}
	if len(input) > maxInput {
		return nil, p.fail(0, "a condition has at most %d bytes", maxInput)
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	e, err := p.or(0)
	if err != nil {
		return nil, err
	}
	if p.token.kind != tokenEnd {
		return nil, p.fail(p.token.pos, "%q follows a complete condition; combine conditions by && or ||", p.token.text)
	}
	return e, nil
}

type parser struct {
	lexer
	token token // the next one
}

func (p *parser) advance() (err error) {
	p.token, err = p.next()
	return err
}

func (p *parser) at(symbol string) bool { return p.token.kind == tokenSymbol && p.token.text == symbol }

func (p *parser) or(depth int) (*Expr, error) {
	return p.chain("||", exprOr, depth, func(depth int) (*Expr, error) {
		return p.chain("&&", exprAnd, depth, p.unary)
	})
}

// chain parses operands between operators of one precedence. The tree leans to
// the left: its depth is bounded by maxInput.
func (p *parser) chain(symbol string, kind exprKind, depth int, operand func(int) (*Expr, error)) (*Expr, error) {
	left, err := operand(depth)
	for err == nil && p.at(symbol) {
		if err = p.advance(); err != nil {
			break
		}
		var right *Expr
		right, err = operand(depth)
		left = &Expr{lexer: &p.lexer, kind: kind, left: left, right: right}
	}
	return left, err
}

func (p *parser) unary(depth int) (*Expr, error) {
	start := p.token.pos
	if depth == maxDepth {
		return nil, p.fail(start, "conditions nest at most %d deep", maxDepth)
	}
	switch {
	case p.at("!"):
		if err := p.advance(); err != nil {
			return nil, err
		}
		e, err := p.unary(depth + 1)
		return &Expr{lexer: &p.lexer, kind: exprNot, left: e}, err
	case p.at("("):
		if err := p.advance(); err != nil {
			return nil, err
		}
		e, err := p.or(depth + 1)
		if err != nil {
			return nil, err
		}
		if !p.at(")") {
			return nil, p.fail(p.token.pos, "the '(' of column %d is not closed", p.fail(start, "").Column)
		}
		return e, p.advance()
	}
	return p.compare()
}

// mirrored are the comparisons with their sides exchanged.
var mirrored = map[string]string{"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

func (p *parser) compare() (*Expr, error) {
	left := p.token
	if left.kind != tokenName && left.kind != tokenConstant {
		return nil, p.fail(left.pos, "want the name of an argument, pid, tid, comm, a constant, '!' or '('")
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	op := p.token
	if _, ok := mirrored[op.text]; op.kind != tokenSymbol || !ok && op.text != "~" {
		if left.kind == tokenConstant {
			return nil, p.fail(left.pos, "%s is compared with nothing", left.text)
		}
		return &Expr{lexer: &p.lexer, kind: exprTruth, name: left.text, namePos: left.pos}, nil
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	right := p.token
	if right.kind != tokenName && right.kind != tokenConstant {
		return nil, p.fail(right.pos, "want a constant after %s", op.text)
	}
	if left.kind == right.kind {
		return nil, p.fail(left.pos, "compare the name of an argument with a constant")
	}
	e := &Expr{lexer: &p.lexer, kind: exprCompare, operator: op.text, opPos: op.pos}
	if left.kind == tokenConstant {
		if op.text == "~" {
			return nil, p.fail(right.pos, "the pattern is a string to the right of ~")
		}
		left, right, e.operator = right, left, mirrored[op.text]
	}
	e.name, e.namePos = left.text, left.pos
	e.constant, e.constPos = right.constant, right.pos
	return e, p.advance()
}
