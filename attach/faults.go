package attach

import (
	"cmp"
	"slices"

	"github.com/go-usdt/usdt/attach/internal/numbering"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/site"
)

// Fault is an argument that could not be read when events fired. Either [Options.Where]
// compares it, and the events did not pass, or an [Aggregate] adds it up, and they are lost.
type Fault struct {
	Site     Site   // where they fired
	Argument string // its name in the condition, or the aggregation
	Lost     bool   // it is the aggregation's, and the events are lost
	Err      error  // why it could not be read, or added up
	Events   uint64 // part of Stats.Lost or Stats.Filtered; that many, or more if very many faults differ
}

// Faults returns what conditions and sums could not read until now. Values that a site can never
// read are among its [Site.Uncomputed].
func (t *tracing) Faults() []Fault {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.faults
	if !t.closed {
		all = t.countFaults()
	}
	table := t.sites.Load()
	if table == nil || t.attached == nil {
		return nil
	}
	var out []Fault
	for fault, n := range all {
		if int(fault.Site) >= len(table.Schemas) || table.Schemas[fault.Site] == nil {
			continue
		}
		name, err := table.Schemas[fault.Site].Fault(&fault)
		if name == "" {
			continue
		}
		out = append(out, Fault{Site: t.faultSite(table, &fault), Argument: name, Lost: fault.Input == query.ValueInput, Err: err, Events: n})
	}
	slices.SortFunc(out, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(b.Events, a.Events), cmp.Compare(a.Site.Offset, b.Site.Offset), cmp.Compare(a.Argument, b.Argument))
	})
	return out
}

// faultSite returns the site of a fault. Sites of one probe share a number in aggregates, and are
// told apart by their addresses within a page.
func (t *tracing) faultSite(table *numbering.Table, fault *query.Fault) (found Site) {
	p := table.Probes[fault.Site]
	found = Site{Probe: *p, Path: p.Path, Offset: p.Offset}
	t.attached.LookAt(0, func(plan site.Plan) {
		for i := range plan {
			s := &plan[i]
			same := s.Probe.Location == p.Location && s.Probe.Path == p.Path
			if fault.Low != 0 {
				same = uint32(s.Offset&0xfff) == fault.Low
			}
			if same && site.Name(&s.Probe) == site.Name(p) && s.Reason == nil {
				found = Site(s.Snapshot())
				return
			}
		}
	})
	return found
}

// countFaults returns how often there was each fault. t.mu is locked.
func (t *tracing) countFaults() map[query.Fault]uint64 {
	all := map[query.Fault]uint64{}
	if t.programs != nil && t.programs.maps != nil {
		t.programs.maps.AddFaultsTo(all)
	}
	if t.tally != nil {
		t.tally.Faults.AddTo(all)
	}
	t.filter.Faults.AddTo(all)
	if t.source != nil {
		t.source.AddFaults(all)
	}
	return all
}
