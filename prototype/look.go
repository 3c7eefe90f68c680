package prototype

import "strings"

// Look is a part of the first look at a provider: a pair of probes whose time is measured, or a
// probe whose events are shown.
type Look struct {
	Span  string // START,END, and :KEY where the pairs have one; PROVIDER:NAME of a single probe. END may be uprobe:FILE:FUNC
	By    string // the key of the pairs' groups, such as sql(query); usually empty
	Stack bool   // the calls that lead there matter
	Flat  bool   // a later start takes the place of the one that waits: starts do not nest
	If    string // a condition on the pairs; usually empty
}

// Single reports whether a look is at the events of a probe, and not at pairs.
func (l *Look) Single() bool { return !strings.Contains(l.Span, ",") }

type look struct {
	provider string
	pair     bool // no part of the first look
	Look
}

// look reads a line behind its first word, page or pair: what is looked at, and then "by" and a key, and
// "stack".
func (p *parser) look(first string, line int) error {
	text := p.words()
	words := strings.Fields(text)
	l := look{pair: first == "pair"}
	ok := len(words) > 0
	if ok {
		var end, name string
		l.Span, words = words[0], words[1:]
		start, rest, pair := strings.Cut(l.Span, ",")
		l.provider, name, ok = strings.Cut(start, ":")
		ok = ok && isName(l.provider) && isName(name)
		if pair {
			end, name, pair = strings.Cut(rest, ":")
			ok = ok && pair && isName(end) && name != "" && (end != "uprobe" || strings.Count(name, ":") == 1)
		}
	}
	for ok && len(words) > 0 {
		switch {
		case words[0] == "by" && len(words) > 1 && !l.Single():
			l.By, words = words[1], words[2:]
		case words[0] == "stack":
			l.Stack, words = true, words[1:]
		case words[0] == "flat" && !l.Single():
			l.Flat, words = true, words[1:]
		case words[0] == "if" && len(words) > 1 && !l.Single():
			l.If, words = strings.Join(words[1:], " "), nil
		default:
			ok = false
		}
	}
	if !ok || l.pair && l.Single() {
		return p.fail(line, "want page PROVIDER:START,PROVIDER:END, as --span has it, or pair, and behind it by KEY, stack, flat or if CONDITION; or page PROVIDER:NAME; got %q", text)
	}
	p.table.looks = append(p.table.looks, l)
	return p.advance()
}

// Looks returns what the first look at a provider shows; nothing if no line says so.
func (t *Table) Looks(provider string) []Look {
	return t.looksAt(provider, func(l *look) bool { return !l.pair })
}

// looksAt returns the looks at a provider that are wanted, of the table that has one and wins.
func (t *Table) looksAt(provider string, wanted func(*look) bool) (all []Look) {
	for ; t != nil && len(all) == 0; t = t.over {
		for _, l := range t.of(provider).looks {
			if l.provider == provider && wanted(&l) {
				all = append(all, l.Look)
			}
		}
	}
	return all
}

// Pair returns what is known of the pairs of two probes, of which selectors say PROVIDER:NAME at
// their end, or of the first pair that begins at a start if end is empty; nil if nothing is.
func (t *Table) Pair(start, end string) *Look {
	start, end = probeOf(start), probeOf(end)
	provider, _, _ := strings.Cut(start, ":")
	all := t.looksAt(provider, func(l *look) bool {
		from, rest, ok := strings.Cut(l.Span, ",")
		return ok && from == start && (end == "" || probeOf(rest) == end || strings.HasPrefix(rest, end+":"))
	})
	if len(all) == 0 {
		return nil
	}
	return &all[0]
}

// probeOf returns PROVIDER:NAME of a selector, and uprobe:FUNC of one of a function.
func probeOf(selector string) string {
	parts := strings.Split(selector, ":")
	if len(parts) == 3 && parts[0] == "uprobe" {
		return parts[0] + ":" + parts[2]
	}
	return strings.Join(parts[max(0, len(parts)-2):], ":")
}
