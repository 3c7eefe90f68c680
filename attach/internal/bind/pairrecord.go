package bind

import (
	"fmt"

	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/record"
)

// Whole reports whether pairs are recorded, instead of added up.
func (l *Layout) Whole() bool { return l != nil && l.Pairs != nil && l.Pairs.Whole }

const (
	// roomForArgs is for what a start's record has beside a string, at the least: starts
	// that are found later have the room that the first ones have made.
	roomForArgs = record.HeaderSize + 8*record.MaxReads
	// maxStartRecord leaves room for the record of an end in scratch memory.
	maxStartRecord = 10 << 10
)

// settleRecords decides how many bytes are kept of a start's record, once the first starts
// are known. It refuses starts whose arguments do not fit.
func (l *Layout) settleRecords(plan site.Plan, schemas []*Schema) {
	pairs := l.Pairs
	each := func(do func(i int, sc *Schema, code *query.Aggregate)) {
		for i, sc := range schemas {
			if sc != nil && !sc.arrives() {
				do(i, sc, sc.Sig.Aggregate)
			}
		}
	}
	if pairs.StartArgsSize == 0 || !pairs.Made {
		size := max(roomForArgs, pairs.StartArgsSize)
		each(func(_ int, sc *Schema, code *query.Aggregate) {
			size = max(size, roomForArgs+sc.Sig.Limit)
			if code.Role == query.RoleStart {
				size = max(size, min(sc.Sig.RecordSize(), maxStartRecord))
			}
		})
		pairs.StartArgsSize = (size + 7) &^ 7
	}
	each(func(i int, sc *Schema, code *query.Aggregate) {
		code.StartArgs = pairs.StartArgsSize
		if code.Role == query.RoleStart && !sc.Sig.LimitRecord(code.StartArgs) {
			plan[i].Reason = &Misfit{fmt.Errorf("%w: the arguments of %s take %d bytes, and %d are kept until the end of a pair: follow fewer pointers", query.ErrAggregation, site.Name(&plan[i].Probe), sc.Sig.FixedSize(), code.StartArgs)}
			schemas[i] = nil
			return
		}
		sc.Sig.LimitStrings()
		if err := sc.Sig.Fits(); err != nil {
			plan[i].Reason, schemas[i] = err, nil
		}
	})
}

// The default number of starts that may wait is the number whose records fit into startBytes, but
// at least fewestStarts and at most mostStarts.
const (
	startBytes   = 32 << 20
	mostStarts   = 16 << 10
	fewestStarts = 1 << 10
)

// MaxPending returns how many keys of starts may wait.
func (l *PairLayout) MaxPending() int {
	if l.Pending != 0 {
		return l.Pending
	}
	return min(mostStarts, max(fewestStarts, startBytes/max(1, l.StartArgsSize)))
}
