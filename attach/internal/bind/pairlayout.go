package bind

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/reader"
)

// PairLayout is what starts and ends share: the key or carrier that matches them,
// and the arguments that a start keeps for its end. The first sites decide the
// kinds.
type PairLayout struct {
	Start, End selector.Selector
	Key        []string // nil to match by what carries the code
	Flat       bool     // a start takes the place of the one of its key that waits
	Pending    int      // how many keys of starts may wait; 0 for the default of pairs that are recorded
	carried    carried

	// KernelReturn is what has to be added to the stack pointer at returns of the kernel's functions
	// for the one at their entries.
	KernelReturn int64

	Whole  bool          // pairs are recorded and not added up; StartArgsSize are the most bytes of a start's record
	Slower time.Duration // pairs that took no longer are not recorded; 0 to record all

	Times bool // the times of all are added up besides

	Made    bool // the maps of starts
	parts   []query.Part
	KeySize int

	fromStart     []bool // which of Aggregation.By; nil until an end is known
	lacks         error  // of the end, why
	startArgs     []query.Part
	StartArgsSize int

	conditions []pairCondition
}

// KeyNames returns the names of the key's parts. They include the process, since
// every process counts for itself, unless the key says that its values are the
// machine's.
func KeyNames(key []string) ([]string, error) {
	var names []string
	process := true
	for _, text := range key {
		if text == "machine" {
			process = false
			continue
		}
		k, err := query.ParseKey(text)
		if err != nil {
			return nil, err
		}
		if k.Fold != nil {
			return nil, fmt.Errorf("%w: %s makes groups, and matches no starts and ends", query.ErrAggregation, text)
		}
		if k.Text == "pid" || k.Text == "tid" {
			process = false
		}
		names = append(names, k.Text)
	}
	if len(key) > 0 && names == nil {
		return nil, fmt.Errorf("%w: the key machine needs an argument beside it", query.ErrAggregation)
	}
	if process && names != nil {
		names = append([]string{"pid"}, names...)
	}
	return names, nil
}

// ErrBothRoles says that selectors name a probe as start and as end: a mistake,
// whatever else they name.
var ErrBothRoles = errors.New("is named as start and as end")

// role returns whether the probe is a start or an end.
func (l *PairLayout) role(p *reader.Probe) (query.Role, error) {
	if l == nil {
		return query.RoleNone, nil
	}
	start, end := discover.Selects(&l.Start, p), discover.Selects(&l.End, p)
	switch {
	case start && end:
		return query.RoleNone, fmt.Errorf("%w: %s:%s %w", query.ErrAggregation, p.Provider, p.Name, ErrBothRoles)
	case start:
		return query.RoleStart, nil
	}
	return query.RoleEnd, nil
}

// Half returns why all starts, or all ends, of a latency have been refused: without
// them there are no pairs.
func (l *Layout) Half(plan site.Plan) error {
	if l == nil || l.Pairs == nil {
		return nil
	}
	for _, role := range []query.Role{query.RoleStart, query.RoleEnd} {
		var of site.Plan
		for i := range plan {
			if r, err := l.Pairs.role(&plan[i].Probe); err == nil && r == role {
				of = append(of, plan[i])
			}
		}
		if len(of) > 0 && of.Attached() == 0 {
			return fmt.Errorf("there would be no pairs: %w", of.Refused())
		}
	}
	return nil
}

// bindPair binds what a start and its end have in common.
func (l *PairLayout) bindPair(code *query.Aggregate, sc *Schema, s *site.Site) (err error) {
	p := &s.Probe
	code.Flat, code.Whole, code.Slower = l.Flat, l.Whole, uint64(l.Slower)
	if l.Key != nil {
		code.Pair, code.PairSize, err = bindKey(l.Key, sc, p)
		code.Lasting = slices.Equal(l.Key, []string{"tid"})
		if i := slices.IndexFunc(code.Pair, func(p query.Part) bool { return p.In.Source == query.InputStack }); err == nil && i >= 0 {
			err = fmt.Errorf("%w: %s makes groups, and matches no starts and ends", query.ErrAggregation, l.Key[i])
		}
		return err
	}
	var words [2]query.Input
	if sc.saved {
		words, err = sc.savedWords(s.Carrier, p)
	} else {
		words, err = l.programWords(s.Carrier, p)
	}
	for i, in := range words {
		if (in.Source == query.InputRegister || in.Source == query.InputGoCall || in.Source == query.InputFunction) && sc.Carrier >= 0 {
			in = query.Input{Source: query.InputOperand, Kind: reader.Uint, Size: 8, Index: sc.Carrier}
		}
		code.Pair = append(code.Pair, query.Part{In: in, Offset: 8 * i, Size: 8})
	}
	code.PairSize = 8 * len(words)
	// Threads and goroutines come again and again, calls do not.
	code.Lasting = s.Carrier != site.ByFrame
	return err
}

// programWords returns the words that identify a carrier for programs on this machine.
func (l *PairLayout) programWords(c site.Carrier, p *reader.Probe) ([2]query.Input, error) {
	regs, err := registersOf(p)
	if err != nil {
		return [2]query.Input{}, err
	}
	return carrierInputs(c, p, regs, l.KernelReturn)
}

// agree checks that the keys of starts and ends can be equal, and that all starts
// note the same arguments.
func (l *PairLayout) agree(code *query.Aggregate, sc *Schema, p *reader.Probe) error {
	if l.parts == nil {
		if l.KeySize != 0 && l.KeySize != code.PairSize { // the map has been made
			return fmt.Errorf("%w: the key of %s could not be read at the probes found first", query.ErrAggregation, site.Name(p))
		}
		l.parts, l.KeySize = code.Pair, code.PairSize
	}
	if i := l.otherKey(code.Pair); i >= 0 {
		if !sc.lack(&code.Pair[i].In, l.Key[i], otherForm(&code.Pair[i].In, &l.parts[i].In)) {
			return otherKind(l.Key[i], p)
		}
		return nil // none of the site's events has a partner
	}
	if code.Role == query.RoleStart && len(l.startArgs) > 0 {
		for i := range code.Parts { // a start that cannot read a part leaves room for what others note
			if part := &code.Parts[i]; part.In.Source == query.InputMissing {
				part.In.Kind, part.In.Size, part.Size = l.startArgs[i].In.Kind, l.startArgs[i].In.Size, l.startArgs[i].Size
			}
			code.Parts[i].Offset = l.startArgs[i].Offset
		}
		if i := l.joinStartArgs(code.Parts); i >= 0 {
			return fmt.Errorf("%w: what %s records for its end has another kind than at other probes", query.ErrAggregation, site.Name(p))
		}
	}
	return nil
}

// joinStartArgs has the arguments that starts keep be of kinds that parts can also have. It
// returns the first that cannot, -1 if there is none.
func (l *PairLayout) joinStartArgs(parts []query.Part) int {
	joined := slices.Clone(l.startArgs) // a restored layout has the original ones
	for i := range joined {
		both, ok := joined[i].In.Join(&parts[i].In)
		if !ok || joined[i].Size != parts[i].Size {
			return i
		}
		joined[i].In = both
	}
	if !l.Made {
		l.startArgs = joined
	}
	return -1
}

// otherKey returns the first part of a key that cannot equal the known one, -1 if there is none.
// Integers are equal if their 64 bits are, whatever their sizes and signs.
func (l *PairLayout) otherKey(parts []query.Part) int {
	for i := range parts {
		x, y := &l.parts[i], &parts[i]
		_, ok := x.In.Join(&y.In)
		if x.Size != y.Size || !ok && (x.In.Kind == reader.Float || y.In.Kind == reader.Float) {
			return i
		}
	}
	return -1
}
