package bind

import (
	"encoding/binary"
	"fmt"

	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/reader"
)

// Matched returns a signature by which package tally matches records of a schema, whose
// Binder had Keep, as records of starts or of ends; nil if p is neither. A pair passes a
// condition as it does where pairs are all that is recorded.
func (l *Layout) Matched(condition *filter.Expr, sc *Schema, p *reader.Probe) (*query.Signature, error) {
	pairs := l.Pairs
	if !pairs.Names(p) {
		return nil, nil
	}
	role, err := pairs.role(p)
	if err != nil {
		return nil, err
	}
	carrier := sc.carrier
	switch {
	case pairs.Key != nil:
	case carrier == site.NoCarrier:
		return nil, unmatched("%s is in a Go program, whose goroutines change threads, and does not record its goroutine", site.Name(p))
	case carrier == site.ByFrame && !pairs.calls():
		carrier = site.ByThread
	}
	sig := *sc.Sig
	sig.Condition, sig.Inputs, sig.Aggregate = nil, nil, nil
	other := *sc
	other.share(&sig)
	other.onlyRecords, other.lacking = true, nil
	before := l.Clone()
	if condition != nil {
		err = pairs.bindCondition(condition, &other, p)
	}
	if err == nil {
		err = l.bind(&other, &site.Site{Report: site.Report{Probe: *p}, Carrier: carrier}, role)
	}
	if err != nil {
		l.restore(before) // the next site may be the first that fits
		return nil, err
	}
	for i := range sig.Aggregate.Pair {
		if from := sig.Aggregate.Pair[i].In.Source; from == query.InputRegister || from == query.InputGoCall || from == query.InputFunction {
			l.restore(before)
			return nil, fmt.Errorf("%w: %s has too many arguments for its %v to be recorded as well", query.ErrAggregation, site.Name(p), carrier)
		}
	}
	if pairs.Key == nil {
		pairs.carried[role-query.RoleStart][carrier] = true
	}
	pairs.StartArgsSize = max(pairs.StartArgsSize, min(sig.RecordSize()-sig.TailSize(), maxStartRecord))
	return &sig, nil
}

// Names reports whether p is a start or an end.
func (l *PairLayout) Names(p *reader.Probe) bool {
	return discover.Selects(&l.Start, p) || discover.Selects(&l.End, p)
}

// Overlap returns an error if the starts and the ends until now are matched by different
// things, so that there are no pairs.
func (l *PairLayout) Overlap() error {
	if l.carried.overlap() {
		return nil
	}
	return unmatched("starts are matched by something else than ends")
}

// ProcessOf returns the process whose start has a key, or one of its threads; known is false if
// the key does not say. apart says that the process may have another number here.
func (l *PairLayout) ProcessOf(key []byte, apart bool) (pid int, known bool) {
	word := binary.NativeEndian.Uint64(key)
	switch {
	case l.Key != nil:
		return int(word), l.Key[0] == "pid"
	case word>>32 == 0: // of a goroutine
		return int(word), true
	}
	return int(word >> 32), !apart
}
