package bind

import (
	"debug/elf"
	"fmt"

	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/tracefile"
	"github.com/go-usdt/usdt/reader"
)

// carriers are the names that files have for what carries code.
var carriers = [site.Carriers]string{site.ByThread: "thread", site.ByGoroutine: "goroutine", site.ByFrame: "call"}

// Save returns the description of a site's records for a file.
func (s *Schema) Save(p *reader.Probe) *tracefile.Site {
	out := tracefile.Describe(p, &s.Shape)
	out.Local, out.CarrierSlot, out.CPU, out.UID = s.local, s.Carrier, max(*s.taskSlot("cpu"), notRecorded), max(*s.taskSlot("uid"), notRecorded)
	out.SetCgroup(*s.taskSlot(query.CgroupKey))
	out.Carrier = carriers[s.carrier]
	return out
}

// saved returns the schema of a site of a file.
func (b *Binder) saved(s *site.Site) *Schema {
	d := s.Saved
	sc := NewSchema(&query.Signature{Layout: *d.Shape.Layout})
	sc.Shape = *d.Shape
	sc.Layout = &sc.Sig.Layout
	if b.Stack > 0 && d.Layout.Stacks > 0 {
		sc.Sig.Stack = record.Stack{Most: b.Stack, Saved: true}
	}
	sc.saved, sc.local, sc.recorded = true, d.Local, s.Recorded
	sc.carrier = carrierIn(d)
	sc.Carrier, *sc.taskSlot("cpu"), *sc.taskSlot("uid") = d.CarrierSlot, d.CPU, d.UID
	if d.Cgroup != nil {
		*sc.taskSlot(query.CgroupKey), sc.Group = *d.Cgroup, *d.Cgroup+1
	}
	if known := b.known(&s.Probe); known != nil {
		for _, param := range known.Params {
			sc.name(&param)
		}
	}
	return sc
}

// bindSaved binds a condition and an aggregation to records of a file.
func (b *Binder) bindSaved(sc *Schema, s *site.Site, role query.Role) (*Schema, error) {
	if err := b.bindCondition(sc, &s.Probe); err != nil {
		return nil, err
	}
	if b.Aggregate != nil {
		if err := b.Aggregate.bind(sc, s, role); err != nil {
			return nil, err
		}
	}
	sc.Sig.Limit = min(sc.Sig.Limit, b.MaxString)
	return sc, nil
}

// carrierIn returns the carrier that a file has of a site.
func carrierIn(d *tracefile.SavedSite) site.Carrier {
	for c, name := range carriers {
		if name == d.Carrier && name != "" {
			return site.Carrier(c)
		}
	}
	return site.NoCarrier
}

// savedCarrier returns the carrier by which starts and ends of a file are matched.
func (l *PairLayout) savedCarrier(s *site.Site) (site.Carrier, error) {
	switch c := carrierIn(s.Saved); {
	case c == site.NoCarrier:
		return c, unmatched("%s is in a Go program, whose goroutines change threads, and its goroutine is not recorded", site.Name(&s.Probe))
	case c == site.ByFrame && !l.calls():
		return site.ByThread, nil
	default:
		return c, nil
	}
}

// savedWords returns the words that identify a carrier in records of a file, as
// carrierInputs does for programs.
func (s *Schema) savedWords(c site.Carrier, p *reader.Probe) (words [2]query.Input, err error) {
	word := func(source query.Source) query.Input {
		return query.Input{Source: source, Kind: reader.Uint, Size: 8}
	}
	words[0], words[1] = word(query.InputThread), word(query.InputConstant)
	if c == site.ByThread {
		return words, nil
	}
	if s.Carrier < 0 {
		return words, fmt.Errorf("%s has too many arguments for its %v to be recorded as well: %w", site.Name(p), c, query.ErrAggregation)
	}
	words[1] = word(query.InputOperand)
	words[1].Index = s.Carrier
	if c == site.ByGoroutine {
		words[0] = query.Input{Source: query.InputPID, Kind: reader.Uint, Size: 4}
	}
	return words, nil
}

// keepCarrier decides what is recorded of a site, so that starts and ends can be matched
// later.
func (b *Binder) keepCarrier(s *site.Site, programs map[int]bool) {
	calls := s.Probe.Target != nil && !s.Probe.Target.Convention.IsGo() && (s.Probe.Displacement() == 0 || s.Probe.AtRET)
	if calls && s.Probe.Class == elf.ELFCLASS64 {
		s.Carrier = site.ByFrame
		return
	}
	s.Carrier, _ = (&PairLayout{}).carrierOf(s, programs)
}
