package page

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// groups are the times of a span by a text, such as a statement without its literals.
type groups struct {
	of    map[string]*histogram
	other histogram // of texts that came when there were too many
}

const (
	// maxGroups bounds how many texts are told apart, maxShownGroups how many are listed.
	maxGroups      = 512
	maxShownGroups = 40
	// maxGroupText is how much of a text is kept, in bytes.
	maxGroupText = 512
)

func (g *groups) add(text string, took float64) {
	if len(text) > maxGroupText {
		text = text[:maxGroupText] + "…"
	}
	h := g.of[text]
	switch {
	case h != nil:
	case len(g.of) == maxGroups:
		h = &g.other
	default:
		if g.of == nil {
			g.of = map[string]*histogram{}
		}
		h = &histogram{}
		g.of[strings.ToValidUTF8(text, "\uFFFD")] = h
	}
	h.add(took)
}

type groupContents struct {
	Text  string
	Other bool `json:",omitempty"`
	Took  *values
}

// contents returns the groups that took longest in all, and one of all others.
func (g *groups) contents() (all []groupContents) {
	other := g.other
	other.buckets, other.exact = maps.Clone(other.buckets), maps.Clone(other.exact)
	texts := slices.SortedFunc(maps.Keys(g.of), func(a, b string) int {
		return cmp.Or(cmp.Compare(g.of[b].sum, g.of[a].sum), cmp.Compare(a, b))
	})
	for i, text := range texts {
		if i < maxShownGroups {
			all = append(all, groupContents{Text: text, Took: g.of[text].contents()})
		} else {
			other.merge(g.of[text])
		}
	}
	if other.count > 0 {
		all = append(all, groupContents{Other: true, Took: other.contents()})
	}
	return all
}

// merge adds the values of another histogram.
func (h *histogram) merge(o *histogram) {
	if h.count == 0 {
		h.min, h.max, h.buckets, h.exact = o.min, o.max, map[int]uint64{}, map[float64]uint64{}
	}
	h.min, h.max, h.sum, h.count = min(h.min, o.min), max(h.max, o.max), h.sum+o.sum, h.count+o.count
	for b, n := range o.buckets {
		h.buckets[b] += n
	}
	for v, n := range o.exact {
		h.tell(v, n)
	}
	if o.exact == nil {
		h.exact = nil
	}
}
