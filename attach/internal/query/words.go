package query

import "github.com/go-usdt/usdt/reader"

// Values are what a group has of the values of its events. A group has only the number of events
// if Value is false.
type Values struct {
	Value, Sum, Min, Max, Hist bool
	Squares                    bool // of what is added to the sum
	Fine                       bool // buckets, for quantiles

	Division Division // of the histogram
	Bounds   int      // their number, if that is ByBounds
}

// Words of a group's value. Max holds a number whose unsigned order is that of
// the argument, and min the complement of one, so that both start from 0.
const (
	WordCount = iota
	WordSum   // of floating-point numbers: in units of 2^-20
	WordMin
	WordMax
	WordHist
)

// SumFraction is the number of fraction bits in a sum of floating-point numbers.
const SumFraction = 20

// Cell is a part of a group's value: words behind the number of events, to which events are added.
type Cell uint8

const (
	CellSum Cell = iota
	CellExtremes
	CellHist
	CellSquares
	CellFine

	Cells // their number
)

// Addend is an event that is added to a group.
type Addend struct {
	Values *Values
	Value  *Input
	Bits   uint64   // of the value
	Sum    uint64   // what the sum takes
	Bounds []uint64 // of the histogram, as order keys, see BoundsTable
}

// cells are what is known of each cell, in the order of words. Package codegen has a table of the
// programs that add to them.
var cells = [Cells]struct {
	wanted func(v *Values) bool
	words  func(v *Values, kind reader.FieldKind) int // how many it takes
	add    func(words []uint64, a *Addend)
	merge  func(words, more []uint64) // of two groups; nil if each word is a sum
	always bool                       // takes its words although it is not wanted
}{
	CellSum: {
		wanted: func(v *Values) bool { return v.Sum },
		words:  func(*Values, reader.FieldKind) int { return 1 },
		add:    func(words []uint64, a *Addend) { words[0] += a.Sum },
		always: true,
	},
	CellExtremes: {
		wanted: func(v *Values) bool { return v.Min || v.Max },
		words:  func(*Values, reader.FieldKind) int { return 2 },
		add:    addExtremes,
		merge:  func(words, more []uint64) { words[0], words[1] = max(words[0], more[0]), max(words[1], more[1]) },
		always: true,
	},
	CellHist: {
		wanted: func(v *Values) bool { return v.Hist },
		words:  func(v *Values, kind reader.FieldKind) int { return v.Buckets(kind) },
		add:    func(words []uint64, a *Addend) { words[a.Values.Bucket(a.Value, a.Bits, a.Bounds)]++ },
	},
	CellSquares: {
		wanted: func(v *Values) bool { return v.Squares },
		words:  func(*Values, reader.FieldKind) int { return 2 },
		add: func(words []uint64, a *Addend) {
			hi, lo := Square(a.Sum, a.Value.Kind)
			AddSquares(words, lo, hi)
		},
		merge: func(words, more []uint64) { AddSquares(words, more[0], more[1]) },
	},
	CellFine: {
		wanted: func(v *Values) bool { return v.Fine },
		words:  func(_ *Values, kind reader.FieldKind) int { return FineBuckets(kind) },
		add:    func(words []uint64, a *Addend) { words[FineBucket(a.Bits, a.Value.Kind)]++ },
	},
}

func addExtremes(words []uint64, a *Addend) {
	key, words := a.Value.Order(a.Bits), words[:2]
	if a.Values.Max {
		words[1] = max(words[1], key)
	}
	if a.Values.Min {
		words[0] = max(words[0], ^key)
	}
}

// Place is where the value of a group has a cell.
type Place struct {
	Cell      Cell
	At, Words int
	add       func(words []uint64, a *Addend)
}

// Of returns the words of the cell.
func (p *Place) Of(words []uint64) []uint64 { return words[p.At : p.At+p.Words] }

// Add adds an event to the cell in the words of a group.
func (p *Place) Add(words []uint64, a *Addend) { p.add(p.Of(words), a) }

// Places returns where the wanted cells are, in the order of words, and the number of 8-byte words
// in the value of a group whose argument has a kind.
func (v *Values) Places(kind reader.FieldKind) (places []Place, words int) {
	words = 1 // the number of events
	for c := range Cells {
		cell := &cells[c]
		wanted := cell.wanted(v)
		if !wanted && !cell.always {
			continue
		}
		n := cell.words(v, kind)
		if wanted {
			places = append(places, Place{c, words, n, cell.add})
		}
		words += n
	}
	return places, words
}

// Words returns the number of 8-byte words in the value of a group, whose argument has a kind.
func (v *Values) Words(kind reader.FieldKind) int {
	_, words := v.Places(kind)
	return words
}

// AddsUp reports whether a group has more of the values than the least and the greatest one.
func (v *Values) AddsUp() bool {
	for c := range Cells {
		if c != CellExtremes && cells[c].wanted(v) {
			return true
		}
	}
	return false
}

// MaxWords is how many words a group can have: the kernel's PCPU_MIN_UNIT_SIZE
// bounds what a map keeps for each CPU.
const MaxWords = 32 << 10 / 8

// CellOf returns the words of a cell, nil if there are none. places belong to the group.
func CellOf(words []uint64, places []Place, c Cell) []uint64 {
	for i := range places {
		if places[i].Cell == c {
			return places[i].Of(words)
		}
	}
	return nil
}

// Merge adds the words of a group to the words of another one.
func Merge(sum, more []uint64, places []Place) {
	plain := 0
	for i := range places {
		p := &places[i]
		if merge := cells[p.Cell].merge; merge != nil {
			addUp(sum[plain:p.At], more[plain:p.At])
			merge(p.Of(sum), p.Of(more))
			plain = p.At + p.Words
		}
	}
	addUp(sum[plain:], more[plain:])
}

func addUp(sum, more []uint64) {
	for i := range sum {
		sum[i] += more[i]
	}
}
