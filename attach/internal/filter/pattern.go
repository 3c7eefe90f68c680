package filter

import "strings"

// Pattern is a string in which stars, between the pieces, stand for any characters.
// A pattern that has no star is one piece.
type Pattern struct{ Pieces []string }

func parsePattern(s string) Pattern {
	var pieces []string
	var piece []byte
	for i := 0; i < len(s); i++ {
		if s[i] == '*' {
			// Empty pieces between stars have no meaning.
			if len(pieces) == 0 || len(piece) > 0 {
				pieces = append(pieces, string(piece))
			}
			piece = nil
			continue
		}
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		piece = append(piece, s[i])
	}
	return Pattern{Pieces: append(pieces, string(piece))}
}

// Match reports whether the pattern matches the whole of s.
func (p Pattern) Match(s string) bool {
	first, last := p.Pieces[0], p.Pieces[len(p.Pieces)-1]
	if len(p.Pieces) == 1 {
		return s == first
	}
	s, ok := strings.CutPrefix(s, first)
	if !ok {
		return false
	}
	for _, piece := range p.Pieces[1 : len(p.Pieces)-1] {
		if _, s, ok = strings.Cut(s, piece); !ok {
			return false
		}
	}
	return strings.HasSuffix(s, last)
}
