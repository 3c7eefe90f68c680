package fold

import "bytes"

// SQL appends a statement to dst with '?' in place of each literal: numbers with their
// sign, strings in single quotes or dollars, bit strings. A list of literals in parentheses becomes
// (?, ...), whatever its length, and so does a list of such lists, as VALUES has them.
// Comments are left out, and blanks are one space. Other differences in writing, such as upper
// and lower case, stay.
//
// The syntax is that of PostgreSQL and standard SQL, in which a backslash means nothing
// unless E stands before the string. A statement whose end is cut off within a literal
// has '?' there.
func SQL(dst, text []byte) []byte {
	s := sqlScanner{out: dst, start: len(dst), in: text}
	for len(s.in) > 0 {
		s.token()
	}
	return bytes.TrimRight(s.out, "; ")
}

// sqlScanner copies tokens from in to out.
type sqlScanner struct {
	in, out []byte
	start   int  // of the statement in out
	blank   bool // blanks before the next token
	// ends says that the last token ends a value, behind which a sign is an operator.
	ends bool
}

// token copies the next token, or skips blanks and a comment.
func (s *sqlScanner) token() {
	c := s.in[0]
	switch {
	case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v':
		s.skip(1)
	case bytes.HasPrefix(s.in, []byte("--")):
		end := bytes.IndexByte(s.in, '\n')
		if end < 0 {
			end = len(s.in)
		}
		s.skip(end)
	case bytes.HasPrefix(s.in, []byte("/*")):
		s.skip(commentEnd(s.in))
	case c == '\'':
		s.literal(quotedEnd(s.in, 0, '\'', false))
	case c == '"' || c == '`':
		s.copy(quotedEnd(s.in, 0, c, false), true)
	case c == '$':
		s.dollar()
	case isDigit(c) || c == '.' && len(s.in) > 1 && isDigit(s.in[1]):
		s.literal(numberEnd(s.in, 0))
	case (c == '-' || c == '+') && !s.ends && len(s.in) > 1 && (isDigit(s.in[1]) || s.in[1] == '.' && len(s.in) > 2 && isDigit(s.in[2])):
		s.literal(numberEnd(s.in, 1))
	case isWord(c):
		s.word()
	case c == ')':
		s.foldList()
		s.copy(1, true)
		s.foldRows()
	case c == ',':
		s.copy(1, false)
		s.blank = true // one form for both
	case bytes.HasPrefix(s.in, []byte("..")):
		s.copy(2, false)
	default:
		s.copy(1, c == ']')
	}
}

func (s *sqlScanner) skip(n int) { s.in, s.blank = s.in[n:], true }

// copy copies n bytes; ends says that they end a value.
func (s *sqlScanner) copy(n int, ends bool) {
	s.space()
	s.out = append(s.out, s.in[:n]...)
	s.in, s.ends = s.in[n:], ends
}

// space writes the blanks before a token, but none at the beginning, behind '(' and
// before ')' and ','. Behind a ',' there is always one.
func (s *sqlScanner) space() {
	if s.blank && len(s.out) > s.start && s.out[len(s.out)-1] != '(' && s.in[0] != ')' && s.in[0] != ',' {
		s.out = append(s.out, ' ')
	}
	s.blank = false
}

// word copies a word, or takes it for the prefix of a string.
func (s *sqlScanner) word() {
	n := 1
	for n < len(s.in) && (isWord(s.in[n]) || isDigit(s.in[n]) || s.in[n] == '$') {
		n++
	}
	if n < len(s.in) && s.in[n] == '\'' && n == 1 {
		switch s.in[0] | 0x20 {
		case 'e':
			s.literal(quotedEnd(s.in, n, '\'', true))
			return
		case 'b', 'x', 'n':
			s.literal(quotedEnd(s.in, n, '\'', false))
			return
		}
	}
	if n == 1 && s.in[0]|0x20 == 'u' && bytes.HasPrefix(s.in[1:], []byte("&'")) {
		s.literal(quotedEnd(s.in, 2, '\'', false))
		return
	}
	s.copy(n, !operators[string(bytes.ToLower(s.in[:min(n, len("returning"))]))])
}

// operators are the words behind which a sign belongs to a number.
var operators = map[string]bool{
	"select": true, "where": true, "and": true, "or": true, "not": true, "between": true, "in": true, "like": true, "limit": true,
	"offset": true, "values": true, "set": true, "then": true, "else": true, "when": true, "case": true, "by": true, "on": true,
	"having": true, "returning": true, "return": true, "default": true, "from": true, "to": true, "is": true, "interval": true,
}

// dollar copies a parameter such as $1, or takes a string in dollars for a literal.
func (s *sqlScanner) dollar() {
	n := 1
	for n < len(s.in) && (isWord(s.in[n]) || n > 1 && isDigit(s.in[n])) {
		n++
	}
	if n < len(s.in) && s.in[n] == '$' {
		tag := s.in[:n+1]
		end := bytes.Index(s.in[len(tag):], tag)
		if end < 0 {
			s.literal(len(s.in))
		} else {
			s.literal(end + 2*len(tag))
		}
		return
	}
	for n < len(s.in) && isDigit(s.in[n]) {
		n++
	}
	s.copy(n, true)
}

// literal writes '?' for n bytes.
func (s *sqlScanner) literal(n int) {
	s.space()
	s.out = append(s.out, '?')
	s.in, s.ends = s.in[n:], true
}

// foldList makes one literal and "..." of a list in parentheses that has only literals.
// The last one has just been written.
func (s *sqlScanner) foldList() {
	before := s.out[s.start:]
	list := bytes.LastIndexByte(before, '(') + 1
	if list == 0 {
		return
	}
	for i, c := range before[list:] {
		if c != "?, "[i%3] {
			return
		}
	}
	if n := len(before) - list; n > 1 && n%3 == 1 {
		s.out = append(s.out[:s.start+list], "?, ..."...)
	}
}

// foldRows makes one of two equal lists of literals. The second one has just been
// written.
func (s *sqlScanner) foldRows() {
	before := s.out[s.start:]
	open := bytes.LastIndexByte(before, '(')
	if open < 0 {
		return
	}
	row := before[open:]
	if string(row) != "(?)" && string(row) != "(?, ...)" {
		return
	}
	rest := bytes.TrimRight(before[:open], " ")
	switch first := bytes.TrimSuffix(rest, []byte(",")); {
	case len(first) == len(rest):
	case bytes.HasSuffix(first, row):
		s.out = append(s.out[:s.start+len(first)], ", ..."...)
	case bytes.HasSuffix(first, []byte(", ...")) && bytes.HasSuffix(first[:len(first)-len(", ...")], row):
		s.out = s.out[:s.start+len(first)]
	}
}

// commentEnd returns the length of a comment, which may contain others.
func commentEnd(in []byte) int {
	depth := 0
	for i := 0; i+1 < len(in); i++ {
		switch string(in[i : i+2]) {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			i++
		}
		if depth == 0 {
			return i + 1
		}
	}
	return len(in)
}

// quotedEnd returns where a text in quotes ends that begins at an index. A quote is
// doubled within it, or escaped by a backslash if escapes is true.
func quotedEnd(in []byte, at int, quote byte, escapes bool) int {
	for i := at + 1; i < len(in); i++ {
		switch {
		case escapes && in[i] == '\\':
			i++
		case in[i] == quote && i+1 < len(in) && in[i+1] == quote:
			i++
		case in[i] == quote:
			return i + 1
		}
	}
	return len(in)
}

// numberEnd returns where a number ends whose digits begin at an index.
func numberEnd(in []byte, at int) int {
	i := at
	for i < len(in) {
		c := in[i]
		switch {
		case isDigit(c) || isWord(c) && c < 0x80:
		case c == '.' && !bytes.HasPrefix(in[i:], []byte("..")):
		case (c == '-' || c == '+') && in[i-1]|0x20 == 'e' && !isHex(in[at:i]):
		default:
			return i
		}
		i++
	}
	return i
}

func isHex(in []byte) bool { return len(in) > 1 && in[0] == '0' && in[1]|0x20 == 'x' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isWord reports whether a byte may begin a name; bytes of UTF-8 may.
func isWord(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}
