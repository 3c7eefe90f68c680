package numbering

import (
	"slices"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/reader"
)

// Table maps numbers to sites. A Table does not change; a tracing replaces its table by a new one.
type Table struct {
	Probes  []*reader.Probe
	Schemas []*bind.Schema // nil for numbers that no site has
	Groups  []int          // of an aggregate: the number that stands for the probe in keys of groups
}

// With returns a table that also has the sites of plan whose number is not
// negative. groups is nil unless events are added up.
func (t *Table) With(plan site.Plan, schemas []*bind.Schema, numbers, groups []int) *Table {
	n := t.clone()
	size := 0
	for _, number := range numbers {
		size = max(size, number+1)
	}
	if more := size - len(n.Probes); more > 0 {
		n.Probes, n.Schemas = append(n.Probes, make([]*reader.Probe, more)...), append(n.Schemas, make([]*bind.Schema, more)...)
		if groups != nil {
			n.Groups = append(n.Groups, make([]int, more)...)
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
		n.Probes[number], n.Schemas[number] = p, schemas[i]
		if groups != nil {
			n.Groups[number] = groups[i]
		}
	}
	return n
}

// Without returns a table in which no site has the numbers.
func (t *Table) Without(numbers []int) *Table {
	n := t.clone()
	for _, number := range numbers {
		n.Probes[number], n.Schemas[number] = nil, nil
	}
	return n
}

func (t *Table) clone() *Table {
	if t == nil {
		return &Table{}
	}
	return &Table{slices.Clone(t.Probes), slices.Clone(t.Schemas), slices.Clone(t.Groups)}
}
