package selector

// Resembles reports whether s, having no patterns, names provider:name but for
// case and for the marks between words: what C calls query__start is
// query-start in DTrace's scripts and PostgreSQL's manual.
func (s *Selector) Resembles(provider, name string) bool {
	return s.Kind == USDT && s.provider.tokens == nil && s.name.tokens == nil &&
		equalWords(s.provider.literal, provider) && equalWords(s.name.literal, name)
}

// equalWords compares letters, digits and the like.
func equalWords(a, b string) bool {
	for {
		a, b = skipMarks(a), skipMarks(b)
		if a == "" || b == "" {
			return a == b
		}
		if lower(a[0]) != lower(b[0]) {
			return false
		}
		a, b = a[1:], b[1:]
	}
}

func skipMarks(s string) string {
	for s != "" && (s[0] == '_' || s[0] == '-') {
		s = s[1:]
	}
	return s
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}
