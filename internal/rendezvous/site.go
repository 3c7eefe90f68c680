package rendezvous

import (
	"fmt"
	"math"

	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/ring"
)

// Site says which probe a tracer wants to watch, and how.
type Site struct {
	// Object is the build-id of the object that has the probe, and Location the
	// probe's location in its note.
	Object   [16]byte
	Location uint64
	// Number is the site's number in records, up to ring.MaxSite, chosen by the
	// tracer. No other site of the session may have it, not even after Forget.
	Number uint32
	// Layout is that of the records, as package shape makes it. The process refuses
	// one that does not fit the types of the probe's arguments.
	Layout *record.Layout
	// Slots says what the slots of the layout are.
	Slots []Slot
	// Sample is N if one in N of the events that fulfil Where is recorded; 0 and 1
	// mean all.
	Sample uint32
	// Where is a condition, empty for none. The process gets it as Ranges.
	Where  []Term
	Ranges []Range

	slots [ring.MaxSlots]Slot
}

// Slot is a word of a record that stands before the argument block.
type Slot uint8

const (
	// IPv4 is what notes.IPv4Register names.
	IPv4 Slot = 1 + iota
	// Goroutine is the address of the goroutine that fires.
	Goroutine
)

// MaxTerms is the largest number of comparisons in a condition.
const MaxTerms = 64

// Term compares a number in the argument block with a constant. A condition is a
// conjunction of clauses; a clause is one term, or several that all but the last have
// Or, and holds if one of them does. A comparison with a NaN is false.
type Term struct {
	Offset uint32 // bytes from the start of the block
	Size   uint8  // of the number: 1, 2, 4 or 8; of a float 4 or 8
	Kind   TermKind
	Op     Op
	Or     bool // whether the next term belongs to the same clause
	// Value is what the number is compared with: extended to 64 bits by its sign if
	// Kind is Signed; of a float, filter.FloatOrder of the 64 bits of a double, or of the 32 bits of
	// a float shifted left by 32.
	Value uint64
}

// TermKind says how a number is extended to 64 bits and compared. A number is often
// extended by its own sign and compared by its constant's.
type TermKind uint8

const (
	Unsigned TermKind = iota // extended by zeros, compared unsigned
	Signed                   // extended by its sign, compared signed
	Float
	SignedAsUnsigned // extended by its sign, compared unsigned
)

// Op compares.
type Op uint8

const (
	Equal Op = iota
	Differs
	Less
	LessEqual
	Greater
	GreaterEqual
)

// Refusal says why a process does not let a tracer watch a site.
type Refusal uint32

const (
	Armed      Refusal = iota
	NotThere           // no such probe is loaded, or it fires in another object
	BadLayout          // the layout does not fit the arguments
	BadWhere           // the condition does not fit them
	TooMany            // too many sites are watched
	BadNumber          // the number is too large
	NotSettled         // the memory of the ring does not exist: the tracer has to map it
)

func (r Refusal) Error() string {
	switch r {
	case NotThere:
		return "the process no longer fires the probe in this object"
	case BadLayout:
		return "the process does not know the arguments by this layout"
	case BadWhere:
		return "the process cannot evaluate the condition"
	case TooMany:
		return "the process lets no more probes be watched"
	case BadNumber:
		return "the number of the site is too large"
	case NotSettled:
		return "the ring's memory does not exist"
	}
	return fmt.Sprintf("the process refuses for reason %d", uint32(r))
}

// Range is a [Term] as it is sent: whether a number lies in a range, or not. All
// operators are such a test, of signed and unsigned numbers alike, since the difference
// of two numbers wraps around.
type Range struct {
	Offset    uint32
	Size      uint8
	Kind      TermKind // SignedAsUnsigned is Signed
	Outside   bool     // whether the number must lie outside the range
	Or        bool
	Low, Span uint64 // from Low to Low+Span
}

// inRange returns the range of a term.
func (t *Term) inRange() Range {
	r := Range{Offset: t.Offset, Size: t.Size, Kind: t.Kind, Or: t.Or}
	low, high := uint64(0), uint64(math.MaxUint64)
	switch t.Kind {
	case Signed, Float:
		low, high = 1<<63, math.MaxInt64
	case SignedAsUnsigned:
		r.Kind = Signed
	}
	switch t.Op {
	case Equal:
		low, high = t.Value, t.Value
	case Differs:
		low, high, r.Outside = t.Value, t.Value, true
	case Less: // not at least
		low, r.Outside = t.Value, true
	case GreaterEqual:
		low = t.Value
	case LessEqual:
		high = t.Value
	case Greater: // not at most
		high, r.Outside = t.Value, true
	}
	r.Low, r.Span = low, high-low
	return r
}
