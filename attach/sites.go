package attach

import (
	"slices"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/reader"
)

// siteTable maps the numbers by which programs name sites to the sites. A
// siteTable does not change; a tracing replaces its table by a new one.
type siteTable struct {
	probes  []*reader.Probe
	schemas []*bind.Schema // nil for numbers that no site has
	groups  []int          // of an aggregate: the number that stands for the probe in keys of groups
}

// with returns a table that also has the sites of plan whose number is not
// negative. groups is nil unless events are added up.
func (t *siteTable) with(plan site.Plan, schemas []*bind.Schema, numbers, groups []int) *siteTable {
	n := t.clone()
	size := 0
	for _, number := range numbers {
		size = max(size, number+1)
	}
	if more := size - len(n.probes); more > 0 {
		n.probes, n.schemas = append(n.probes, make([]*reader.Probe, more)...), append(n.schemas, make([]*bind.Schema, more)...)
		if groups != nil {
			n.groups = append(n.groups, make([]int, more)...)
		}
	}
	for i, number := range numbers {
		if number < 0 {
			continue
		}
		p := &plan[i].Probe
		if plan[i].Shared {
			anywhere := *p
			anywhere.Live, p = nil, &anywhere
		}
		n.probes[number], n.schemas[number] = p, schemas[i]
		if groups != nil {
			n.groups[number] = groups[i]
		}
	}
	return n
}

// without returns a table in which no site has the numbers.
func (t *siteTable) without(numbers []int) *siteTable {
	n := t.clone()
	for _, number := range numbers {
		n.probes[number], n.schemas[number] = nil, nil
	}
	return n
}

func (t *siteTable) clone() *siteTable {
	if t == nil {
		return &siteTable{}
	}
	return &siteTable{slices.Clone(t.probes), slices.Clone(t.schemas), slices.Clone(t.groups)}
}

// numbering gives sites their numbers, and takes back the numbers of sites that
// have been left, because short-lived programs would use up more and more.
type numbering struct {
	next   int
	free   []int
	byName map[string]int           // of an aggregate, whose groups have one for a probe
	of     map[discover.Owner][]int // of sites that may be left
	left   []leftNumbers
}

// leftNumbers are the numbers of sites that no longer fire, but whose events may
// still be waiting for a reader.
type leftNumbers struct {
	numbers []int
	drained int // how often the ring was empty since, of which the first time may have been too early
}

// give returns the numbers of the sites of plan, -1 for refused ones. groups are the
// numbers in keys of an aggregate's groups: one for each probe. Programs that add up
// use these; records and stacks name the site that has fired by its own number, since
// that says what they hold.
func (t *tracing) give(plan site.Plan, schemas []*bind.Schema) (numbers, groups []int) {
	n, aggregate := &t.numbers, t.layout != nil
	if n.of == nil {
		n.byName, n.of = map[string]int{}, map[discover.Owner][]int{}
	}
	numbers = make([]int, len(plan))
	if aggregate {
		groups = make([]int, len(plan))
	}
	for i := range plan {
		s := &plan[i]
		if schemas[i] == nil {
			numbers[i] = -1
			continue
		}
		name, group, known := "", 0, false
		if aggregate {
			name = site.Name(&s.Probe)
			group, known = n.byName[name]
		}
		number := group
		switch {
		case aggregate && known && !s.Local && !t.options.recorded && !t.layout.Whole() && !t.layout.Wanted.ByStack():
		case len(n.free) > 0:
			number = n.free[len(n.free)-1]
			n.free = n.free[:len(n.free)-1]
		default:
			number = n.next
			n.next++
		}
		numbers[i] = number
		if aggregate {
			if !known {
				group = number
				n.byName[name] = group // for ever: groups may have it
			}
			groups[i] = group
		}
		if o := s.Owner(); o != (discover.Owner{}) && (!aggregate || number != group) {
			n.of[o] = append(n.of[o], number)
		}
	}
	return numbers, groups
}

// take notes that the sites of files have been left.
func (n *numbering) take(left []discover.Owner) {
	for _, o := range left {
		if numbers := n.of[o]; numbers != nil {
			n.left = append(n.left, leftNumbers{numbers: numbers})
			delete(n.of, o)
		}
	}
}

// recycle frees the numbers of which no event is left in the ring or with a
// reader, and returns them.
func (t *tracing) recycle() (again []int) {
	if len(t.numbers.left) == 0 || t.source == nil {
		return nil
	}
	// A rescan lies between an empty ring and the time when readers have nothing
	// in hand: records taken from the ring before it count as taken by then.
	idle := t.taken() == t.handled.Load()
	empty := !t.source.Available()
	t.numbers.left = slices.DeleteFunc(t.numbers.left, func(l leftNumbers) bool {
		if idle && l.drained > 1 {
			again = append(again, l.numbers...)
			return true
		}
		return false
	})
	for i := range t.numbers.left {
		l := &t.numbers.left[i]
		if empty {
			l.drained++
		}
	}
	t.numbers.free = append(t.numbers.free, again...)
	return again
}
