package prototype

import (
	"fmt"
	"strings"
)

// token is a word, a number or a punctuation character; a newline outside parentheses
// and braces is the token "\n", the end is "".
type token struct {
	text string
	line int
}

// lexer cuts a file into tokens.
type lexer struct {
	file, rest string
	line       int
	open       int // parentheses and braces
}

func (l *lexer) fail(line int, format string, args ...any) error {
	return &SyntaxError{l.file, line, fmt.Sprintf(format, args...)}
}

// punctuation, longest first.
var punctuation = []string{"...", "->", "(", ")", "{", "}", "[", "]", ",", "*", ":", "=", "-"}

func (l *lexer) next() (token, error) {
	for {
		l.rest = strings.TrimLeft(l.rest, " \t\r")
		if strings.HasPrefix(l.rest, "#") {
			end := strings.IndexByte(l.rest, '\n')
			if end < 0 {
				end = len(l.rest)
			}
			l.rest = l.rest[end:]
		}
		if !strings.HasPrefix(l.rest, "\n") {
			break
		}
		l.rest = l.rest[1:]
		l.line++
		if l.open == 0 {
			return token{"\n", l.line - 1}, nil
		}
	}
	if l.rest == "" {
		return token{"", l.line}, nil
	}
	for _, p := range punctuation {
		if strings.HasPrefix(l.rest, p) {
			switch p {
			case "(", "{":
				l.open++
			case ")", "}":
				l.open = max(0, l.open-1)
			}
			return l.take(len(p)), nil
		}
	}
	end := 0
	for end < len(l.rest) && isWord(l.rest[end]) {
		end++
	}
	if end == 0 {
		return token{}, l.fail(l.line, "character %q has no meaning here", []rune(l.rest)[0])
	}
	return l.take(end), nil
}

func (l *lexer) take(n int) token {
	t := token{l.rest[:n], l.line}
	l.rest = l.rest[n:]
	return t
}

func isWord(c byte) bool {
	return c == '_' || isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isName reports whether a token is a word that does not begin with a digit.
func isName(s string) bool { return s != "" && isWord(s[0]) && !isDigit(s[0]) }
