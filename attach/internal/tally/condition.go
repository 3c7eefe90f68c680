package tally

import (
	"sync"

	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/internal/record"
)

// Filter tests the conditions of signatures. One goroutine at a time may use it.
type Filter struct {
	reading reading
	Faults  Faults // of records that did not pass
}

// Faults counts what conditions could not read. Any number of goroutines may use it.
type Faults struct {
	mu sync.Mutex
	n  map[query.Fault]uint64
}

// maxFaults bounds the faults that are told apart.
const maxFaults = 1024

func (f *Faults) add(fault query.Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n == nil {
		f.n = map[query.Fault]uint64{}
	}
	if _, known := f.n[fault]; known || len(f.n) < maxFaults {
		f.n[fault]++
	}
}

// AddTo adds how often there was each fault.
func (f *Faults) AddTo(all map[query.Fault]uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for fault, n := range f.n {
		all[fault] += n
	}
}

// Passes reports whether a record passes the condition of its signature. A record
// that is not whole passes, so that its decoder says what is wrong.
func (f *Filter) Passes(sig *query.Signature, rec record.Record) bool {
	if sig.Condition == nil || !f.reading.set(sig, rec) || f.reading.passes() {
		return true
	}
	f.reading.noteFault(&f.Faults)
	return false
}

func (r *reading) passes() bool {
	r.fault = query.Fault{Input: -1}
	return r.sig.Condition == nil || r.sig.Condition.Holds(r.operand)
}

// noteFault counts what could not be read of a record that did not pass, if that is so.
func (r *reading) noteFault(faults *Faults) {
	if r.fault.Input >= 0 {
		r.fault.Site = r.rec.Site()
		faults.add(r.fault)
	}
}

// operand returns a value that a condition compares.
func (r *reading) operand(v filter.Value) filter.Operand {
	in := &r.sig.Inputs[v.Index]
	if in.Group != 0 {
		id, ok := r.number(in)
		if !ok || r.sig.Groups == nil {
			return filter.Operand{}
		}
		return filter.StringOperand([]byte(r.sig.Groups.Text(id, in.Group)), false)
	}
	switch v.Kind {
	case filter.String, filter.Address, filter.NetIP, filter.Hex:
		b, length, ok := r.str(in)
		if !ok {
			r.fails(v.Index)
			return filter.Operand{}
		}
		return filter.StringOperand(b, length > uint64(len(b)))
	}
	bits, ok := r.number(in)
	if !ok {
		r.fails(v.Index)
		return filter.Operand{}
	}
	return filter.NumberOperand(in.Wide(bits))
}

// noteValueFault adds why the value of an aggregate could not be read, or does not fit.
func (r *reading) noteValueFault(faults *Faults) {
	in := &r.sig.Aggregate.Value
	r.fault = query.Fault{Input: query.ValueInput, Mark: query.MarkSign}
	if bits, read := r.number(in); !read {
		r.fault.Mark = r.mark(in)
	} else if !in.Exceeds(bits) {
		return
	}
	r.noteFault(faults)
}

// fails notes that an input could not be read.
func (r *reading) fails(input int) {
	if in := &r.sig.Inputs[input]; in.Source != query.InputMissing { // which is said of the site
		r.fault = query.Fault{Input: input, Mark: r.mark(in)}
	}
}
