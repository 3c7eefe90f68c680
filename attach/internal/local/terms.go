package local

import (
	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/internal/rendezvous"
	"github.com/go-usdt/usdt/reader"
)

// termsOf returns what of a signature's condition the process that fires can test:
// comparisons of numbers in the argument block. whole reports that this is all of the
// condition.
func termsOf(sig *query.Signature) (terms []rendezvous.Term, whole bool) {
	whole = true
	for _, clause := range clauses(sig.Condition, filter.And) {
		alternatives := clauses(clause, filter.Or)
		if len(terms)+len(alternatives) > rendezvous.MaxTerms {
			return terms, false
		}
		all := make([]rendezvous.Term, len(alternatives))
		fits := true
		for i, c := range alternatives {
			var ok bool
			all[i], ok = termOf(sig, c)
			all[i].Or = i < len(all)-1
			fits = fits && ok
		}
		if whole = whole && fits; fits {
			terms = append(terms, all...)
		}
	}
	return terms, whole
}

// clauses returns the conditions that op combines to c.
func clauses(c *filter.Condition, op filter.Op) []*filter.Condition {
	if c.Op != op {
		return []*filter.Condition{c}
	}
	return append(clauses(c.Left, op), clauses(c.Right, op)...)
}

var termOps = map[filter.Op]rendezvous.Op{
	filter.Equal: rendezvous.Equal, filter.Differs: rendezvous.Differs, filter.Less: rendezvous.Less,
	filter.LessEqual: rendezvous.LessEqual, filter.Greater: rendezvous.Greater, filter.GreaterEqual: rendezvous.GreaterEqual,
}

// termOf returns a comparison as the process tests it.
func termOf(sig *query.Signature, c *filter.Condition) (rendezvous.Term, bool) {
	op, ok := termOps[c.Op]
	if !ok || c.Steps != nil {
		return rendezvous.Term{}, false
	}
	in := &sig.Inputs[c.Value.Index]
	if in.Source != query.InputBlock || sig.RegionRead(in.Offset) != sig.BlockRead() {
		return rendezvous.Term{}, false
	}
	t := rendezvous.Term{Offset: in.Offset, Size: in.Size, Op: op, Value: c.Bits}
	switch {
	case in.Kind == reader.Float:
		t.Kind = rendezvous.Float
	case in.Kind == reader.Int && c.Signed:
		t.Kind = rendezvous.Signed
	case in.Kind == reader.Int:
		t.Kind = rendezvous.SignedAsUnsigned
	}
	return t, !c.Signed || in.Kind == reader.Int || in.Kind == reader.Float
}
