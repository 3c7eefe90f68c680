package selector

import (
	"strings"

	"github.com/go-usdt/usdt/internal/spelling"
	"github.com/go-usdt/usdt/reader"
)

// Near returns what would name provider:name in place of s, and its distance from s:
// 0 if only case differs, or the marks between words, as between query-start in
// DTrace's scripts and query__start in C; otherwise the number of letters that
// differ. Patterns in s must match as they are. ok is false if the distance is too
// large.
func (s *Selector) Near(provider, name string) (instead string, distance int, ok bool) {
	if s.Kind != reader.USDT {
		return "", 0, false
	}
	byProvider, nearProvider := s.provider.near(provider)
	if !nearProvider && (s.name.tokens != nil || s.name.literal != name || len(name) < tellingName) {
		return "", 0, false
	}
	byName, nearName := s.name.near(name)
	if !nearName {
		return "", 0, false
	}
	if !nearProvider {
		byProvider = farProvider
	}
	instead = Probe("", provider, name)
	if s.name.tokens != nil {
		instead = Quote(provider) + ":" + s.Name
	}
	return instead, byProvider + byName, true
}

const (
	tellingName = 6  // letters from which on a name says more than its provider
	farProvider = 64 // the distance of another provider's probe with that name
)

// NearName returns the distance of s from naming the function; see Near. It is 0 where only the package
// of Go, the namespace or the class is missing.
func (s *Selector) NearName(function string) (distance int, ok bool) {
	if !s.ByFunction() || s.function.tokens != nil {
		return 0, false
	}
	name, _, _ := strings.Cut(function, "(") // types of parameters
	if name, ok := strings.CutSuffix(name, s.function.literal); ok && s.function.literal != "" && (strings.HasSuffix(name, ".") || strings.HasSuffix(name, "::")) {
		return 0, true
	}
	return s.function.near(function)
}

// near returns the distance of a literal from text; a pattern must match.
func (g *glob) near(text string) (distance int, ok bool) {
	if g.tokens != nil {
		return 0, g.match(text)
	}
	a, b := words(g.literal), words(text)
	limit := max(1, len(a)/3)
	if len(a) < 2 {
		limit = 0
	}
	if len(a) >= 3 && strings.HasPrefix(b, a) { // a is an abbreviation
		return min(len(b)-len(a), limit), true
	}
	distance = spelling.Edits(a, b, limit)
	return distance, distance <= limit
}

// words returns a name's letters, digits and the like, in lower case.
func words(s string) string { return strings.ToLower(unmark.Replace(s)) }

// unmark removes the marks between words. A kernel has forty thousand names to compare.
var unmark = strings.NewReplacer("_", "", "-", "")
