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
}

// with returns a table that also has the sites of plan whose number is not
// negative.
func (t *siteTable) with(plan site.Plan, schemas []*bind.Schema, numbers []int) *siteTable {
	n := t.clone()
	for i, number := range numbers {
		if number < 0 {
			continue
		}
		for number >= len(n.probes) {
			n.probes, n.schemas = append(n.probes, nil), append(n.schemas, nil)
		}
		p := &plan[i].Probe
		if plan[i].Shared {
			anywhere := *p
			anywhere.Live, p = nil, &anywhere
		}
		n.probes[number], n.schemas[number] = p, schemas[i]
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
	return &siteTable{slices.Clone(t.probes), slices.Clone(t.schemas)}
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
	drained bool // the ring has been empty since
}

// give returns the numbers of the sites of plan, -1 for refused ones.
func (n *numbering) give(plan site.Plan, schemas []*bind.Schema, aggregate bool) []int {
	if n.of == nil {
		n.byName, n.of = map[string]int{}, map[discover.Owner][]int{}
	}
	numbers := make([]int, len(plan))
	for i := range plan {
		s := &plan[i]
		if schemas[i] == nil {
			numbers[i] = -1
			continue
		}
		name := site.Name(&s.Probe)
		number, known := n.byName[name]
		switch {
		case aggregate && known:
		case len(n.free) > 0:
			number = n.free[len(n.free)-1]
			n.free = n.free[:len(n.free)-1]
		default:
			number = n.next
			n.next++
		}
		numbers[i] = number
		if aggregate {
			n.byName[name] = number // for ever: groups may have it
		} else if o := s.Owner(); o != (discover.Owner{}) {
			n.of[o] = append(n.of[o], number)
		}
	}
	return numbers
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
	// in hand: records taken from the ring before it count as received by then.
	idle := t.received.Load() == t.handled.Load()
	empty := !t.source.available()
	t.numbers.left = slices.DeleteFunc(t.numbers.left, func(l leftNumbers) bool {
		if idle && l.drained {
			again = append(again, l.numbers...)
			return true
		}
		return false
	})
	for i := range t.numbers.left {
		l := &t.numbers.left[i]
		l.drained = l.drained || empty
	}
	t.numbers.free = append(t.numbers.free, again...)
	return again
}
