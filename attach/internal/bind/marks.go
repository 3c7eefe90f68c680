package bind

import (
	"errors"
	"slices"

	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/reader"
)

var (
	errNegative = errors.New("its length is negative")
	errDivision = errors.New("division by zero")
	errMissing  = errors.New("it cannot be read, for one of many reasons")
)

// marked reports whether keys have marks: some part may be missing.
func (l *Layout) marked() bool {
	return slices.ContainsFunc(l.Wanted.By, func(name string) bool {
		i := query.TaskKeyOf(name)
		return name != "probe" && (i < 0 || query.TaskKeys[i].What != "")
	})
}

// marksAt returns the offset of the marks of parts, behind a key of that size,
// and the number of their bytes; zero if there are none.
func (l *Layout) marksAt(size, parts int) (at, bytes int) {
	if !l.marked() {
		return 0, 0
	}
	return size, query.MarksSize(parts)
}

// markMissing marks the parts that can never be read at a site.
func (l *Layout) markMissing(code *query.Aggregate, names []string, sc *Schema) {
	for i := range code.Parts {
		if part := &code.Parts[i]; part.In.Source == query.InputMissing {
			part.Mark = l.markOf(sc, names[i])
		}
	}
}

// markOf returns the mark of an argument that can never be read at a site.
func (l *Layout) markOf(sc *Schema, name string) uint8 {
	reason := shape.ErrTooManyParts // a string whose read would be one too many
	if err := sc.lacking.of(name); err != nil {
		reason = err
	}
	for _, name := range query.NamesOf(name) {
		if f, err := sc.Resolve(name); err == nil && f.Err != nil {
			reason = f.Err
			break
		}
	}
	same := func(err error) bool { return err.Error() == reason.Error() }
	i := slices.IndexFunc(l.reasons, same)
	if i < 0 {
		if len(l.reasons) == query.MaxMark-query.MarkReason {
			reason = errMissing
		}
		if i = slices.IndexFunc(l.reasons, same); i < 0 {
			i, l.reasons = len(l.reasons), append(l.reasons, reason)
		}
	}
	return uint8(query.MarkReason + i)
}

// MissingPart returns why part i of a key is missing. A nil error means that it
// lies behind a nil pointer.
func (l *Layout) MissingPart(key []byte, i int) (reason error, missing bool) {
	if !l.marked() {
		return nil, false
	}
	switch mark := query.MarkIn(key, len(l.Parts), i); {
	case mark == 0 || mark == query.MarkSign:
		return nil, false
	case mark == query.MarkNil:
		return nil, true
	case mark < query.MarkReason:
		return markError(mark), true
	default:
		return l.reasons[mark-query.MarkReason], true
	}
}

// markError returns what a mark says of any site.
func markError(mark uint8) error {
	switch mark {
	case query.MarkNil:
		return errNil
	case query.MarkNegative:
		return errNegative
	case query.MarkDivision:
		return errDivision
	case query.MarkSign:
		return errSign
	case query.MarkOther:
		return errOther
	}
	return event.ErrFault
}

// errSign is why an integer of another type does not fit, see query.Input.Exceeds.
var errSign = errors.New("it is negative or at least 2^63, which the numbers of other sites cannot be")

var errOther = errors.New("its interface holds another type")

var errNil = errors.New("its pointer, or one on the way to it, is NULL")

// Fault returns the name of the argument to which a fault belongs, and what was wrong; ""
// if the schema does not know.
func (s *Schema) Fault(f *query.Fault) (name string, err error) {
	if f.Input == query.ValueInput {
		return s.valued, markError(f.Mark)
	}
	if f.Input < 0 || f.Input >= len(s.compared) {
		return "", nil
	}
	return s.compared[f.Input], markError(f.Mark)
}

// Part returns part i of the key, with the sign that its number has, also where most events have
// the other sign.
func (l *Layout) Part(key []byte, i int) query.Part {
	part := l.Parts[i]
	if l.marked() && query.MarkIn(key, len(l.Parts), i) == query.MarkSign {
		if part.In.Kind == reader.Int {
			part.In.Kind = reader.Uint
		} else {
			part.In.Kind = reader.Int
		}
	}
	return part
}
