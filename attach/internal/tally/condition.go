package tally

import (
	"github.com/go-usdt/usdt/attach/internal/codegen"
	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/reader"
)

// Filter tests the conditions of signatures. One goroutine at a time may use it.
type Filter struct{ reading reading }

// Passes reports whether a record passes the condition of its signature. A record
// that is not whole passes, so that its decoder says what is wrong.
func (f *Filter) Passes(sig *codegen.Signature, rec record.Record) bool {
	return sig.Condition == nil || !f.reading.set(sig, rec) || f.reading.passes()
}

func (r *reading) passes() bool { return r.sig.Condition == nil || r.sig.Condition.Holds(r.operand) }

// operand returns a value that a condition compares.
func (r *reading) operand(v filter.Value) filter.Operand {
	in := &r.sig.Inputs[v.Index]
	switch v.Kind {
	case filter.String, filter.Address, filter.NetIP, filter.Hex:
		b, length, ok := r.str(in)
		if !ok {
			return filter.Operand{}
		}
		return filter.StringOperand(b, length > uint64(len(b)))
	}
	bits, ok := r.number(in)
	if !ok {
		return filter.Operand{}
	}
	if in.Kind == reader.Float {
		bits = float(bits, in.Size)
	}
	return filter.NumberOperand(bits)
}
