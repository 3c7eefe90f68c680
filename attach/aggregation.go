package attach

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-usdt/usdt/attach/internal/codegen"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/reader"
)

// errAggregation is wrapped by the error of what cannot be aggregated.
var errAggregation = errors.New("aggregation")

// maxGroupBytes is the size of the keys that events can be grouped by.
const maxGroupBytes = 512

// computation is what is computed of events.
type computation struct {
	value                    string // the argument that the following are of
	sum, avg, min, max, hist bool

	bounds    []float64 // of hist; nil for powers of two
	by        []string  // what events are grouped by
	maxGroups int       // 0 for the default
}

// aggregateLayout is what all sites of an aggregate share: the keys and values
// of its groups. The first site decides the kinds.
type aggregateLayout struct {
	wanted computation
	pairs  *pairLayout // nil unless starts and ends are aggregated

	cpus int // that the machine may have

	made    bool           // the maps
	bound   bool           // the following
	parts   []codegen.Part // of the first site that has them
	value   codegen.Input
	keySize int
	reasons []error // why parts of keys are missing; their marks begin with markReason
}

// clone returns a copy that binding to other sites leaves as it is; nil of nil.
func (l *aggregateLayout) clone() *aggregateLayout {
	if l == nil {
		return nil
	}
	out := *l
	if l.pairs != nil {
		pairs := *l.pairs
		out.pairs = &pairs
	}
	return &out
}

// restore makes l what its clone is.
func (l *aggregateLayout) restore(clone *aggregateLayout) {
	if l == nil {
		return
	}
	pairs := l.pairs
	*l = *clone
	if pairs != nil {
		*pairs = *clone.pairs
		l.pairs = pairs
	}
}

// bind fits the aggregation to what is read at a site, and drops the reads that
// nobody needs.
func (l *aggregateLayout) bind(sc *schema, s *site.Site, role codegen.Role) error {
	p := &s.Probe
	code := &codegen.Aggregate{Role: role}
	if err := l.bindGroup(code, sc, p); err != nil {
		return err
	}
	if role != codegen.RoleNone {
		if err := l.pairs.bindPair(code, sc, s); err != nil {
			return err
		}
	}
	if size := code.Room(); size > maxGroupBytes {
		return tooLong(p, size)
	}
	if err := l.agree(code, p); err != nil {
		return err
	}
	sc.sig.Aggregate = code
	sc.sig.DropUnneeded()
	return nil
}

func tooLong(p *reader.Probe, size int) error {
	return fmt.Errorf("%w: events of %s:%s are grouped by %d bytes, at most %d are possible", errAggregation, p.Provider, p.Name, size, maxGroupBytes)
}

// bindGroup is for what events are added up by, and for the value.
func (l *aggregateLayout) bindGroup(code *codegen.Aggregate, sc *schema, p *reader.Probe) (err error) {
	switch {
	case code.Role == codegen.RoleStart && l.pairs.fromStart != nil:
		return l.bindNoted(code, sc, p)
	case code.Role == codegen.RoleStart:
		return nil
	case code.Role == codegen.RoleEnd:
		err = l.pairs.bindGroup(code, l.wanted.by, sc, p)
	default:
		code.Parts, code.KeySize, err = bindKey(l.wanted.by, sc, p)
	}
	if err != nil {
		return err
	}
	l.markMissing(code, l.wanted.by, sc)
	code.Wanted = codegen.Values{
		Value: l.wanted.value != "", Sum: l.wanted.sum || l.wanted.avg, Min: l.wanted.min, Max: l.wanted.max, Hist: l.wanted.hist,
		Bounds: len(l.wanted.bounds),
	}
	switch {
	case l.pairs != nil:
		code.Value = codegen.Elapsed
	case code.Wanted.Value:
		if code.Value, err = sc.input(p, l.wanted.value, false); err != nil {
			return fmt.Errorf("%w: %w", errAggregation, err)
		}
		if code.Value.IsText() || code.Value.Kind == reader.Other {
			return fmt.Errorf("%w: argument %s of %s:%s is not a number", errAggregation, l.wanted.value, p.Provider, p.Name)
		}
		if code.Value.Meaning == reader.Time && (l.wanted.sum || l.wanted.avg || l.wanted.hist) {
			return fmt.Errorf("%w: argument %s of %s:%s is a time, of which there are only the least and the greatest", errAggregation, l.wanted.value, p.Provider, p.Name)
		}
	}
	return nil
}

// bindKey lays out a key of the values of names.
func bindKey(names []string, sc *schema, p *reader.Probe) (parts []codegen.Part, size int, err error) {
	for _, name := range names {
		part := codegen.Part{Offset: size, Size: 8}
		if name == "probe" {
			part.In = codegen.Input{Source: codegen.InputProbe, Kind: reader.String, Size: 4}
		} else if part.In, err = sc.input(p, name, false); err != nil {
			return nil, 0, fmt.Errorf("%w: %w", errAggregation, err)
		}
		switch {
		case part.In.Source == codegen.InputComm:
			part.Size = codegen.KeyComm
		case part.In.Source != codegen.InputProbe && part.In.IsText():
			part.Size = codegen.KeyTextSize
		}
		parts = append(parts, part)
		size += part.Size
	}
	return parts, size, nil
}

// agree holds that all sites have keys and values of the same kinds.
func (l *aggregateLayout) agree(code *codegen.Aggregate, p *reader.Probe) error {
	if code.Missing() {
		return nil // no event of this site gets that far
	}
	if l.pairs != nil {
		if err := l.pairs.agree(code, p); err != nil || code.Role == codegen.RoleStart {
			return err
		}
	}
	differ := func(a, b *codegen.Input) bool {
		return a.Kind != b.Kind || a.Meaning != b.Meaning || a.Kind == reader.Float && a.Size != b.Size
	}
	late := func() error {
		return fmt.Errorf("%w: what %s:%s is grouped by could not be read of the probes that came first", errAggregation, p.Provider, p.Name)
	}
	if !l.bound && l.made && len(code.Parts) > 0 {
		return late()
	}
	if !l.bound {
		l.bound, l.parts, l.value = true, slices.Clone(code.Parts), code.Value
	}
	for i := range code.Parts {
		known, part := &l.parts[i], &code.Parts[i]
		switch {
		case part.In.Source == codegen.InputMissing:
		case known.In.Source == codegen.InputMissing && l.made:
			return late()
		case known.In.Source == codegen.InputMissing:
			l.parts = slices.Clone(l.parts) // a clone of l shares them
			l.parts[i] = *part
		case differ(&known.In, &part.In):
			return otherKind(l.wanted.by[i], p)
		}
	}
	if differ(&l.value, &code.Value) {
		return otherKind(l.wanted.value, p)
	}
	return nil
}

func otherKind(name string, p *reader.Probe) error {
	return fmt.Errorf("%w: argument %s of %s is of another kind than that of other probes", errAggregation, name, site.Name(p))
}

// settle lays out the keys of sites, all equally, once it is known of which kind
// the parts are that are missing at some of them. It refuses sites for whose keys
// there is no room then.
func (l *aggregateLayout) settle(plan site.Plan, schemas []*schema) {
	if !l.bound {
		return
	}
	l.parts = slices.Clone(l.parts) // a clone of l shares them
	size := 0
	for i := range l.parts {
		l.parts[i].Offset = size
		size += l.parts[i].Size
	}
	marks, marksSize := l.marksAt(size, len(l.parts))
	l.keySize = size + marksSize
	for i, sc := range schemas {
		if sc == nil || sc.sig.Aggregate.Role == codegen.RoleStart || sc.sig.Aggregate.Missing() {
			continue
		}
		code := sc.sig.Aggregate
		for j := range code.Parts {
			code.Parts[j].Offset, code.Parts[j].Size = l.parts[j].Offset, l.parts[j].Size
		}
		code.KeySize, code.Marks = l.keySize, marks
		var err error
		if room := code.Room() - marksSize; room > maxGroupBytes {
			err = &misfitError{tooLong(&plan[i].Probe, room)}
		} else {
			err = sc.sig.Fits()
		}
		if err != nil {
			plan[i].Reason, schemas[i] = err, nil
		}
	}
}

func (l *aggregateLayout) words() int {
	switch {
	case !l.wanted.hist:
		return codegen.WordHist
	case l.wanted.bounds != nil:
		return codegen.WordHist + len(l.wanted.bounds) + 1
	}
	return codegen.WordHist + codegen.HistBuckets
}

// maxGroups is how many groups there is room for.
func (l *aggregateLayout) maxGroups() int {
	switch {
	case l.wanted.maxGroups != 0:
		return l.wanted.maxGroups
	case !l.wanted.hist:
		return 8192
	}
	return min(1024, max(64, 1024*(codegen.WordHist+codegen.HistBuckets)/l.words()))
}

// sharedBytes of groups, on all CPUs, are the most that each CPU gets its own of.
const sharedBytes = 64 << 20

// shared says that the CPUs share the groups. Counters of their own do not make
// them wait for each other, but the kernel keeps room for each group on every CPU
// that there may be one day: a histogram's is 0.4 GB on a machine of 256.
func (l *aggregateLayout) shared() bool {
	return l.wanted.hist && l.keySize > 0 && 2*l.maxGroups()*8*l.words()*l.cpus > sharedBytes
}
