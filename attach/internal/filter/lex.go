package filter

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-usdt/usdt/internal/grammar"
)

type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenSymbol
	tokenName
	tokenConstant
)

type token struct {
	kind     tokenKind
	pos      int // in bytes
	text     string
	constant Constant
}

// lexer cuts the input into tokens.
type lexer struct {
	input string
	pos   int
	// valued says that the last token ends a value: a sign behind it is an operator, and
	// belongs to a number elsewhere.
	valued bool
}

func (l *lexer) fail(pos int, format string, args ...any) *Error {
	return &Error{Input: l.input, Column: utf8.RuneCountInString(l.input[:pos]) + 1, Msg: fmt.Sprintf(format, args...)}
}

func (l *lexer) next() (token, error) {
	t, err := l.token()
	l.valued = t.kind == tokenName || t.kind == tokenConstant || t.kind == tokenSymbol && (t.text == ")" || t.text == "]")
	return t, err
}

func (l *lexer) token() (token, error) {
	l.pos += len(l.input[l.pos:]) - len(strings.TrimLeft(l.input[l.pos:], " \t\r\n"))
	rest := l.input[l.pos:]
	t := token{pos: l.pos}
	if rest == "" {
		return t, nil
	}
	for _, s := range grammar.Symbols {
		if strings.HasPrefix(rest, s) {
			l.pos += len(s)
			t.kind, t.text = tokenSymbol, s
			return t, nil
		}
	}
	first, size := utf8.DecodeRuneInString(rest)
	switch {
	case first == '"' || first == '\'':
		return l.quoted(t, rest)
	case isDigit(first) && l.literal(&t, rest):
		return t, nil
	case (first == '-' || first == '+') && (l.valued || !beginsNumber(rest[1:])):
		l.pos++
		t.kind, t.text = tokenSymbol, rest[:1]
		return t, nil
	case isDigit(first) || (first == '-' || first == '+' || first == '.') && len(rest) > 1:
		return l.number(t, rest)
	case isNameStart(first):
		end := strings.IndexFunc(rest, func(r rune) bool { return !isNameStart(r) && !isDigit(r) && r != '.' && r != '[' && r != ']' })
		if end < 0 {
			end = len(rest)
		}
		if strings.HasPrefix(rest[end:], ":") {
			end -= len(rest[:end]) - len(strings.TrimSuffix(rest[:end], "["))
		}
		l.pos += end
		t.kind, t.text = tokenName, rest[:end]
		if t.text == "true" || t.text == "false" {
			t.kind, t.constant = tokenConstant, Constant{Kind: Bool, Literal: t.text, True: t.text == "true"}
		}
		return t, nil
	case first == '=':
		return t, l.fail(t.pos, "to compare write ==")
	case first == '|':
		return t, l.fail(t.pos, "to combine conditions write ||")
	}
	return t, l.fail(t.pos, "character %q has no meaning here", rest[:size])
}

// beginsNumber reports whether a number without sign begins s; infinity is one.
func beginsNumber(s string) bool {
	return s != "" && (isDigit(rune(s[0])) || s[0] == '.') || strings.HasPrefix(strings.ToLower(s), "inf")
}

func isDigit(r rune) bool     { return r >= '0' && r <= '9' }
func isNameStart(r rune) bool { return r == '_' || r != utf8.RuneError && unicode.IsLetter(r) }

func (l *lexer) quoted(t token, rest string) (token, error) {
	quote := rest[0]
	var text, glob []byte
	for in := rest[1:]; ; {
		if in == "" {
			return t, l.fail(t.pos, "the string is not closed by %c", quote)
		}
		if in[0] == quote {
			l.pos += len(rest) - len(in) + 1
			t.kind, t.text = tokenConstant, rest[:len(rest)-len(in)+1]
			t.constant = Constant{Kind: String, Literal: string(text), glob: string(glob)}
			return t, nil
		}
		if in[0] != '\\' {
			text, glob, in = append(text, in[0]), append(glob, in[0]), in[1:]
			continue
		}
		if len(in) > 1 && in[1] == '*' {
			text, glob, in = append(text, '*'), append(glob, `\*`...), in[2:]
			continue
		}
		r, multibyte, tail, err := strconv.UnquoteChar(in, quote)
		if err != nil {
			return t, l.fail(l.pos+len(rest)-len(in), `a backslash is followed by n, t, xHH, u…, \, * or the quote`)
		}
		if r == '*' || r == '\\' {
			glob = append(glob, '\\')
		}
		if multibyte {
			text, glob = utf8.AppendRune(text, r), utf8.AppendRune(glob, r)
		} else {
			text, glob = append(text, byte(r)), append(glob, byte(r))
		}
		in = tail
	}
}

func (l *lexer) number(t token, rest string) (token, error) {
	end := strings.IndexFunc(rest, func(r rune) bool {
		return !isDigit(r) && !isNameStart(r) && r != '.' && r != '-' && r != '+'
	})
	if end < 0 {
		end = len(rest)
	}
	// A sign belongs to a number at its beginning and after an exponent.
	for i := 1; i < end; i++ {
		hex := strings.HasPrefix(strings.TrimLeft(rest, "+-"), "0x")
		if (rest[i] == '-' || rest[i] == '+') && (hex || rest[i-1] != 'e' && rest[i-1] != 'E') {
			end = i
		}
	}
	text := rest[:end]
	t.kind, t.text, t.constant.Literal = tokenConstant, text, text
	digits := strings.TrimLeft(text, "+")
	if after, ok := strings.CutPrefix(digits, "-"); ok {
		t.constant.Negative, digits = true, after
	}
	u, err := strconv.ParseUint(digits, 0, 64)
	switch {
	case err == nil && t.constant.Negative && u > 1<<63, errors.Is(err, strconv.ErrRange):
		return t, l.fail(t.pos, "%s does not fit 64 bits", text)
	case err == nil:
		t.constant.Kind, t.constant.Uint = Int, u
		l.pos += end
		return t, nil
	}
	if d, err := time.ParseDuration(text); err == nil {
		t.constant.set(Duration, int64(d))
		l.pos += end
		return t, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != f {
		return t, l.fail(t.pos, "%q is not a number", text)
	}
	t.constant.Kind, t.constant.Float = Float, f
	l.pos += end
	return t, nil
}
