package attach

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/reader"
)

// pairLayout is what starts and ends share: by what they are matched, and what
// is noted at a start for its end. The first sites decide the kinds.
type pairLayout struct {
	start, end selector.Selector
	key        []string // nil to match by what carries the code
	pending    int
	carried    carried

	parts   []groupPart
	keySize int

	fromStart []bool // which of Aggregation.By; nil until an end is known
	lacks     error  // of the end, why
	noted     []groupPart
	notedSize int

	conditions []pairCondition
}

// keyNames returns the names of the key's parts: what every process counts for
// itself has the process beside it, unless the key says that it is the machine's.
func keyNames(key []string) ([]string, error) {
	var names []string
	process := true
	for _, name := range key {
		switch name {
		case "machine":
			process = false
			continue
		case "pid", "tid":
			process = false
		}
		names = append(names, name)
	}
	if len(key) > 0 && names == nil {
		return nil, fmt.Errorf("%w: a key of the machine needs an argument beside it", ErrAggregation)
	}
	if process && names != nil {
		names = append([]string{"pid"}, names...)
	}
	return names, nil
}

// errBothRoles is a mistake in selectors, whatever else they name.
var errBothRoles = errors.New("is named as start and as end")

// role tells starts from ends.
func (l *pairLayout) role(p *reader.Probe) (pairRole, error) {
	if l == nil {
		return roleNone, nil
	}
	start, end := selects(&l.start, p), selects(&l.end, p)
	switch {
	case start && end:
		return roleNone, fmt.Errorf("%w: %s:%s %w", ErrAggregation, p.Provider, p.Name, errBothRoles)
	case start:
		return roleStart, nil
	}
	return roleEnd, nil
}

// half returns why all starts, or all ends, of a latency have been refused: without
// them there are no pairs.
func (l *aggregateLayout) half(plan Plan) error {
	if l == nil || l.pairs == nil {
		return nil
	}
	for _, role := range []pairRole{roleStart, roleEnd} {
		var of Plan
		for i := range plan {
			if r, err := l.pairs.role(&plan[i].Probe); err == nil && r == role {
				of = append(of, plan[i])
			}
		}
		if len(of) > 0 && of.Attached() == 0 {
			return fmt.Errorf("there would be no pairs: %w", of.refused())
		}
	}
	return nil
}

// bindPair is for what a start and its end have in common.
func (l *pairLayout) bindPair(code *aggregateCode, sc *schema, s *Site) (err error) {
	p := &s.Probe
	if l.key != nil {
		code.pair, code.pairSize, err = bindKey(l.key, sc, p)
		code.lasting = slices.Equal(l.key, []string{"tid"})
		return err
	}
	regs, err := operand.HostRegisters(p.Machine, p.Class)
	if err != nil {
		return err
	}
	words, err := s.carrier.inputs(p, regs)
	for i, in := range words {
		code.pair = append(code.pair, groupPart{in: in, offset: 8 * i, size: 8})
	}
	code.pairSize = 8 * len(words)
	// Threads and goroutines come again and again, calls do not.
	code.lasting = s.carrier != byFrame
	return err
}

// agree holds that the keys of starts and ends can be equal, and that all starts
// note the same.
func (l *pairLayout) agree(code *aggregateCode, p *reader.Probe) error {
	if l.parts == nil {
		if l.keySize != 0 && l.keySize != code.pairSize { // the map has been made
			return fmt.Errorf("%w: by what %s is matched could not be read of the probes that came first", ErrAggregation, nameOf(p))
		}
		l.parts, l.keySize = code.pair, code.pairSize
	}
	if i := differing(l.parts, code.pair, true); i >= 0 {
		return otherKind(l.key[i], p)
	}
	if code.role == roleStart && len(l.noted) > 0 {
		for i := range code.parts { // where nothing can be read, there is room for what others note
			if part := &code.parts[i]; part.in.source == inputMissing {
				part.in.kind, part.in.size, part.size = l.noted[i].in.kind, l.noted[i].in.size, l.noted[i].size
			}
			code.parts[i].offset = l.noted[i].offset
		}
		if i := differing(l.noted, code.parts, false); i >= 0 {
			return fmt.Errorf("%w: what is noted at %s for its end is of another kind than at other probes", ErrAggregation, nameOf(p))
		}
	}
	return nil
}

// differing returns the first part in which two keys are of different kinds, -1 if
// there is none. Integers are equal whatever their size.
func differing(a, b []groupPart, integers bool) int {
	for i := range a {
		x, y := &a[i].in, &b[i].in
		float := x.kind == reader.Float || y.kind == reader.Float
		switch {
		case a[i].size != b[i].size || float && (x.kind != y.kind || x.size != y.size):
			return i
		case !integers && x.kind != y.kind:
			return i
		}
	}
	return -1
}

// newMaps creates the maps of starts and of what is noted at them.
func (l *pairLayout) newMaps(m *maps) (err error) {
	if l.keySize == 0 {
		// No site has a key that can be read, and none gets as far as the map.
		l.keySize = 8 * max(2, len(l.key))
	}
	spec := ebpf.MapSpec{
		Name: "usdt_starts", Type: ebpf.LRUHash, KeySize: uint32(l.keySize), ValueSize: startsSize, MaxEntries: uint32(l.pending),
	}
	if m.starts, err = ebpf.NewMap(&spec); err == nil && l.notedSize > 0 {
		spec.Name, spec.KeySize, spec.ValueSize = "usdt_noted", spec.KeySize+8, uint32(l.notedSize)
		m.noted, err = ebpf.NewMap(&spec)
	}
	if err != nil {
		return fmt.Errorf("create room for %d starts: %w", l.pending, err)
	}
	return nil
}

// pairs tells from the counters what became of starts and ends. The kernel does
// not count what it evicts: it is what has been noted and is nowhere else.
func (m *maps) pairs(c *counters) (PairStats, error) {
	p := PairStats{
		Pairs: c.at(counterMatched), TooDeep: c.at(counterTooDeep),
		Dropped: c.at(counterDropped), Unstarted: c.at(counterUnstarted),
	}
	if m.starts == nil {
		return p, nil
	}
	n, err := countStarts(m.starts)
	if err != nil {
		return p, fmt.Errorf("count pending starts: %w", err)
	}
	p.Pending = n
	// Without a pause between the counters and the entries the difference may
	// be less than none.
	if gone := p.Pairs + p.TooDeep + p.Dropped + p.Pending; c.at(counterStarted) > gone {
		p.Evicted = c.at(counterStarted) - gone
	}
	return p, nil
}

// countStarts returns the number of starts that wait.
func countStarts(m *ebpf.Map) (total uint64, err error) {
	const batch = 1024
	key := reflect.ArrayOf(int(m.KeySize()), reflect.TypeFor[byte]())
	keys, values := reflect.MakeSlice(reflect.SliceOf(key), batch, batch).Interface(), make([]starts, batch)
	var cursor ebpf.MapBatchCursor
	for {
		n, err := m.BatchLookup(&cursor, keys, values, nil)
		for i := range values[:n] {
			for _, at := range values[i][1:] {
				if at != 0 {
					total++
				}
			}
		}
		if errors.Is(err, ebpf.ErrKeyNotExist) {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}
