package sums

import (
	"math"
	"math/big"
	"time"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/total"
)

// results are what each function makes of the words of a group.
var results = [query.Functions]func(g *total.Group, w *words){
	query.Sum:    func(g *total.Group, w *words) { g.Sum = w.number(w.sum()) },
	query.Avg:    func(g *total.Group, w *words) { g.Avg = w.mean(w.avg()) },
	query.Min:    func(g *total.Group, w *words) { g.Min = w.least() },
	query.Max:    func(g *total.Group, w *words) { g.Max = w.most() },
	query.Stddev: func(g *total.Group, w *words) { g.Stddev = w.mean(w.stddev()) },
}

// words belong to one group.
type words struct {
	l      *bind.Layout
	all    []uint64
	places []query.Place
	kind   reader.FieldKind // Int, Uint or Float
}

// wordsOf returns the words of a group that has yet to be chosen.
func wordsOf(l *bind.Layout, places []query.Place) *words {
	w := &words{l: l, places: places, kind: l.Value.Kind}
	if w.kind != reader.Int && w.kind != reader.Float {
		w.kind = reader.Uint
	}
	return w
}

// cell returns the words of a cell, nil if there are none.
func (w *words) cell(c query.Cell) []uint64 { return query.CellOf(w.all, w.places, c) }

// number returns a number of the argument's kind and meaning.
func (w *words) number(bits uint64) any {
	// A minimum or maximum can be a time that is only a bound.
	v, _ := event.NumberValue(w.kind, w.l.Value.Meaning, bits, 8).Any()
	return v
}

// mean returns a number that need not be whole where the argument is.
func (w *words) mean(f float64) any {
	if w.l.Value.Meaning == reader.Duration {
		return time.Duration(math.Round(f))
	}
	return f
}

// sum returns the bits of the sum.
func (w *words) sum() uint64 {
	if w.kind == reader.Float {
		return math.Float64bits(w.total())
	}
	return w.all[query.WordSum]
}

// total returns the sum as a floating-point number.
func (w *words) total() float64 {
	if sum := w.whole(); sum != nil {
		f, _ := new(big.Float).SetInt(sum).Float64()
		if w.kind == reader.Float {
			return math.Ldexp(f, -query.SumFraction)
		}
		return f
	}
	switch sum := w.all[query.WordSum]; w.kind {
	case reader.Float:
		return math.Ldexp(float64(int64(sum)), -query.SumFraction)
	case reader.Int:
		return float64(int64(sum))
	default:
		return float64(sum)
	}
}

func (w *words) avg() float64 { return w.total() / float64(w.all[query.WordCount]) }

// upper returns the average, rounded up.
func (w *words) upper() any {
	switch up := math.Ceil(w.avg()); w.kind {
	case reader.Float:
		return w.number(math.Float64bits(w.avg()))
	case reader.Uint:
		return w.number(uint64(up))
	default:
		return w.number(uint64(int64(up)))
	}
}

func (w *words) least() any { return w.number(unorder(^w.all[query.WordMin], w.kind)) }
func (w *words) most() any  { return w.number(unorder(w.all[query.WordMax], w.kind)) }

// unorder undoes the order of minima and maxima.
func unorder(u uint64, kind reader.FieldKind) uint64 {
	if kind == reader.Uint {
		return u
	}
	i := int64(u ^ 1<<63)
	if kind == reader.Int {
		return uint64(i)
	}
	if i < 0 {
		i ^= math.MaxInt64
	}
	return uint64(i)
}
