package selector

import "strings"

// Near returns what would name provider:name in place of s, and its distance from s:
// 0 if only case differs, or the marks between words, as between query-start in
// DTrace's scripts and query__start in C; otherwise the number of letters that
// differ. Patterns in s must match as they are. ok is false if the distance is too
// large.
func (s *Selector) Near(provider, name string) (instead string, distance int, ok bool) {
	if s.Kind != USDT {
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

// NearName returns the distance of s from naming the function; see Near.
func (s *Selector) NearName(function string) (distance int, ok bool) {
	if !s.ByFunction() || s.function.tokens != nil {
		return 0, false
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
	distance = Edits(a, b, limit)
	return distance, distance <= limit
}

// Nearest returns the one of names that a word may have been meant for, "" if none is near: the
// word is its beginning, or a third of its letters differ at most, and none of a single one.
func Nearest(word string, names []string) (nearest string) {
	least := max(1, (len(word)+1)/3) + 1
	if len(word) == 1 {
		least = 1 // another letter is another name
	}
	for _, name := range names {
		distance := Edits(strings.ToLower(word), name, least)
		if word != "" && strings.HasPrefix(name, word) {
			distance = 0
		}
		sameStem := strings.TrimRight(word, "0123456789") == strings.TrimRight(name, "0123456789") // arg7 is not meant for arg0
		if distance < least && !sameStem {
			nearest, least = name, distance
		}
	}
	return nearest
}

// NearestIs stands in front of the name that [Nearly] has found.
const NearestIs = "; the nearest is "

// Nearly returns what to say behind an error about a word, "" if no name is near.
func Nearly(word string, names []string) string {
	if nearest := Nearest(word, names); nearest != "" {
		return NearestIs + nearest
	}
	return ""
}

// words returns a name's letters, digits and the like, in lower case.
func words(s string) string { return strings.ToLower(unmark.Replace(s)) }

// unmark removes the marks between words. A kernel has forty thousand names to compare.
var unmark = strings.NewReplacer("_", "", "-", "")

// Edits returns the number of bytes that must be added, removed, changed or exchanged
// with their neighbours to make a into b (Damerau and Levenshtein's distance, each
// byte edited once), or a number above limit if that is more.
func Edits(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	// Rows of the table of distances between beginnings of a and of b.
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least > limit {
			return limit + 1
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
