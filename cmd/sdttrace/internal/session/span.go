package session

import (
	"fmt"
	"strings"

	"github.com/go-usdt/usdt/internal/selector"
)

// Span is a pair of probes that is shown as slices.
type Span struct {
	Text       string
	Start, End string
	Key        []string // none for the same goroutine, call or thread
}

// ParseSpan parses START,END[:KEY[,KEY...]]. END has a key if it has more parts than its
// kind: KEY is no part of a probe's path, unless that has no '/'.
func ParseSpan(text string) (s Span, err error) {
	parts := SplitProbes(text)
	if len(parts) < 2 || parts[0] == "" || parts[1] == "" {
		return s, fmt.Errorf("--span %s: want two probes, START,END, and a key behind them if need be, START,END:KEY", text)
	}
	s = Span{Text: text, Start: parts[0], End: parts[1]}
	if at := keyIn(s.End, s.Start); at >= 0 {
		s.End, s.Key = s.End[:at], append([]string{s.End[at+1:]}, parts[2:]...)
	} else if len(parts) > 2 {
		return s, fmt.Errorf("--span %s: %s is one probe too many; a key stands behind the second one: START,END:KEY", text, parts[2])
	}
	for _, probe := range []string{s.Start, s.End} {
		if _, err := selector.Parse(probe); err != nil {
			return s, fmt.Errorf("--span %s: %w", text, err)
		}
	}
	for _, k := range s.Key {
		if k == "" {
			return s, fmt.Errorf("--span %s: the key is empty", text)
		}
	}
	return s, nil
}

// keyIn returns where the colon in front of a key is in the second probe of a span; -1 if
// it has none.
func keyIn(end, start string) int {
	first, rest, _ := strings.Cut(end, ":")
	last := strings.LastIndexByte(end, ':')
	if first == "uprobe" || first == "uretprobe" {
		function := len(first) + 1 + strings.IndexByte(rest, ':') // the colon in front of it
		if function <= len(first) || last <= function || end[last-1] == ':' {
			return -1 // "::" is C++'s
		}
		return last
	}
	probe := 2 // parts
	if strings.Contains(first, "/") || strings.Count(start, ":") == 2 && !strings.HasPrefix(start, "u") {
		probe = 3
	}
	if strings.Count(end, ":") < probe {
		return -1
	}
	return last
}

// SplitProbes cuts at commas outside braces and the parameters of functions and templates.
func SplitProbes(s string) []string {
	var parts []string
	start, depth := 0, 0
	for i, c := range []byte(s) {
		switch {
		case c == '(' || c == '<' || c == '{':
			depth++
		case (c == ')' || c == '>' || c == '}') && depth > 0:
			depth--
		case c == ',' && depth == 0:
			parts, start = append(parts, s[start:i]), i+1
		}
	}
	return append(parts, s[start:])
}
