package attach

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/reader"
)

// pairRole is what the events of a site are to a latency.
type pairRole uint8

const (
	roleNone pairRole = iota
	roleStart
	roleEnd
)

// pairLayout is what starts and ends share: the key by which they are matched.
// The first site decides the kinds.
type pairLayout struct {
	start, end selector.Selector
	by         []string
	pending    int

	parts   []groupPart
	keySize int

	whereFits bool // at a site, at least
	whereErr  error
}

// errBothRoles is a mistake in selectors, whatever else they name.
var errBothRoles = errors.New("is named as start and as end")

// role tells starts from ends.
func (l *aggregateLayout) role(p *reader.Probe) (pairRole, error) {
	if l.pairs == nil {
		return roleNone, nil
	}
	start := selects(&l.pairs.start, p)
	end := selects(&l.pairs.end, p)
	switch {
	case start && end:
		return roleNone, fmt.Errorf("%w: %s:%s %w", ErrAggregation, p.Provider, p.Name, errBothRoles)
	case start:
		return roleStart, nil
	}
	return roleEnd, nil
}

// excuses reports whether a condition that does not fit a site is not tested
// there: a start and its end have different arguments.
func (l *aggregateLayout) excuses(where *filter.Expr, sc *schema, err error) bool {
	if l.pairs == nil {
		return false
	}
	if err == nil {
		l.pairs.whereFits = true
		return false
	}
	for _, name := range where.Names() {
		if !sc.has(name) {
			l.pairs.whereErr = err
			return true
		}
	}
	return false
}

// fits returns the error of a condition that was tested nowhere.
func (l *aggregateLayout) fits() error {
	if l.pairs == nil || l.pairs.whereFits {
		return nil
	}
	return l.pairs.whereErr
}

// agree holds that the keys of starts and ends can be equal.
func (l *pairLayout) agree(code *aggregateCode, p *reader.Probe) error {
	if l.parts == nil {
		if l.keySize != 0 && l.keySize != code.pairSize { // the map has been made
			return fmt.Errorf("%w: by what %s is matched could not be read of the probes that came first", ErrAggregation, nameOf(p))
		}
		l.parts, l.keySize = code.pair, code.pairSize
		return nil
	}
	for i := range code.pair {
		a, b := &l.parts[i].in, &code.pair[i].in
		float := a.kind == reader.Float || b.kind == reader.Float
		if l.parts[i].size != code.pair[i].size || float && (a.kind != b.kind || a.size != b.size) {
			return fmt.Errorf("%w: argument %s of %s:%s is of another kind than that of other probes", ErrAggregation, l.by[i], p.Provider, p.Name)
		}
	}
	return nil
}

// newMap creates the map of starts.
func (l *pairLayout) newMap() (*ebpf.Map, error) {
	if l.keySize == 0 {
		// No site has a key that can be read, and none gets as far as the map.
		l.keySize = 8 * len(l.by)
	}
	m, err := ebpf.NewMap(&ebpf.MapSpec{
		Name: "usdt_starts", Type: ebpf.LRUHash, KeySize: uint32(l.keySize), ValueSize: 8, MaxEntries: uint32(l.pending),
	})
	if err != nil {
		return nil, fmt.Errorf("create room for %d starts: %w", l.pending, err)
	}
	return m, nil
}

// pairs tells from the counters what became of starts and ends. The kernel does
// not count what it evicts: it is what has been noted and is nowhere else.
func (m *maps) pairs(c *counters) (PairStats, error) {
	p := PairStats{
		Pairs: c.at(counterMatched), Restarted: c.at(counterRestarted),
		Dropped: c.at(counterDropped), Unstarted: c.at(counterUnstarted),
	}
	if m.starts == nil {
		return p, nil
	}
	n, err := countEntries(m.starts)
	if err != nil {
		return p, fmt.Errorf("count pending starts: %w", err)
	}
	p.Pending = n
	// Without a pause between the counters and the entries the difference may
	// be less than none.
	if gone := p.Pairs + p.Restarted + p.Dropped + p.Pending; c.at(counterStarted) > gone {
		p.Evicted = c.at(counterStarted) - gone
	}
	return p, nil
}

// countEntries returns the number of entries of a map of 64-bit values.
func countEntries(m *ebpf.Map) (uint64, error) {
	const batch = 4096
	key := reflect.ArrayOf(int(m.KeySize()), reflect.TypeFor[byte]())
	keys, values := reflect.MakeSlice(reflect.SliceOf(key), batch, batch).Interface(), make([]uint64, batch)
	var cursor ebpf.MapBatchCursor
	for total := uint64(0); ; {
		n, err := m.BatchLookup(&cursor, keys, values, nil)
		total += uint64(n)
		if errors.Is(err, ebpf.ErrKeyNotExist) {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

// stamp keeps the time for takeStart.
func (g *generator) stamp() {
	g.emit(asm.FnKtimeGetNs.Call(), asm.StoreMem(asm.R10, stackClock, asm.R0, asm.DWord))
}

// pairKey puts the key of starts and ends together.
func (g *generator) pairKey(lost string) (base asm.Register, at int16) {
	agg := g.sig.aggregate
	g.unlessMissing(lost)
	base, at = g.keyAt(true)
	for i := range agg.pair {
		g.keyPart(&agg.pair[i], base, at, lost)
	}
	return base, at
}

// onStarts calls a helper with the map of starts and the key.
func (g *generator) onStarts(fn asm.BuiltinFunc, base asm.Register, at int16) {
	g.emit(
		asm.LoadMapPtr(asm.R1, g.maps.starts.FD()),
		asm.Mov.Reg(asm.R2, base), asm.Add.Imm(asm.R2, int32(at)),
		fn.Call(),
	)
}

// emitStart notes when the event fired. The time is taken last, so that what
// the program costs is not counted.
func (g *generator) emitStart(to exits) {
	g.where(to.unwanted)
	base, at := g.pairKey(to.lost)
	noted, again := g.newLabel("noted"), g.newLabel("again")
	// flags of bpf_map_update_elem, include/uapi/linux/bpf.h
	const anyway, ifNew, ifThere = 0, 1, 2
	put := func(flags int32) {
		g.stamp()
		g.emit(asm.Mov.Reg(asm.R3, asm.R10), asm.Add.Imm(asm.R3, stackClock), asm.Mov.Imm(asm.R4, flags))
		g.onStarts(asm.FnMapUpdateElem, base, at)
	}
	put(ifNew)
	g.emit(asm.JEq.Imm(asm.R0, 0, noted))
	put(ifThere)
	g.emit(asm.JNE.Imm(asm.R0, 0, again))
	g.count(counterRestarted)
	g.emit(asm.Ja.Label(noted))
	g.label(again) // the one that was there has gone
	put(anyway)
	g.emit(asm.JNE.Imm(asm.R0, 0, to.lost))
	g.label(noted)
	g.count(counterStarted)
	g.emit(asm.Ja.Label(to.done))
}

// emitEnd takes the start away and adds the time since to a group.
func (g *generator) emitEnd(to exits) {
	unstarted, dropped, inOrder := g.newLabel("unstarted"), g.newLabel("dropped"), g.newLabel("inorder")
	base, at := g.pairKey(to.lost)
	g.where(dropped)
	g.onStarts(asm.FnMapLookupElem, base, at)
	g.emit(
		asm.JEq.Imm(asm.R0, 0, unstarted),
		asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord),
		asm.LoadMem(asm.R2, asm.R10, stackClock, asm.DWord),
		asm.Sub.Reg(asm.R2, asm.R1),
		asm.JSGE.Imm(asm.R2, 0, inOrder),
		asm.Mov.Imm(asm.R2, 0), // both fired at the same time, on different CPUs
	)
	g.label(inOrder)
	g.emit(asm.StoreMem(asm.R10, stackClock, asm.R2, asm.DWord))
	// Of several ends at a time, the start belongs to the one that removes it.
	g.onStarts(asm.FnMapDeleteElem, base, at)
	g.emit(asm.JNE.Imm(asm.R0, 0, unstarted))
	g.count(counterMatched)
	g.addToGroup(to)
	if g.sig.where != nil {
		g.label(dropped)
		g.onStarts(asm.FnMapDeleteElem, base, at)
		g.emit(asm.JNE.Imm(asm.R0, 0, to.unwanted))
		g.count(counterDropped)
		g.emit(asm.Ja.Label(to.unwanted))
	}
	g.label(unstarted)
	g.count(counterUnstarted)
	g.emit(asm.Ja.Label(to.done))
}
