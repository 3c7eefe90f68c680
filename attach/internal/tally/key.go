package tally

import (
	"encoding/binary"

	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/internal/fold"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/reader"
)

// groupKey writes the key of the event's group to key, which is zero except for the parts that a
// start has kept. It marks parts that cannot be read.
func (r *reading) groupKey(key []byte) {
	agg := r.sig.Aggregate
	for i := range agg.Parts {
		part := &agg.Parts[i]
		switch {
		case part.In.Source == query.InputStart:
		case part.In.Source == query.InputMissing:
			setMark(key[agg.Marks:], i, part.Mark)
		case !r.keyPart(part, key[part.Offset:part.Offset+part.Size]):
			clear(key[part.Offset : part.Offset+part.Size])
			setMark(key[agg.Marks:], i, r.partMark(part))
		case part.In.Exceeds(binary.NativeEndian.Uint64(key[part.Offset:])):
			setMark(key[agg.Marks:], i, query.MarkSign)
		}
	}
}

// setMark sets the mark of part i, which is zero.
func setMark(marks []byte, i int, mark uint8) {
	word := marks[i/8*8:]
	binary.NativeEndian.PutUint64(word, binary.NativeEndian.Uint64(word)|uint64(mark)<<(i%8*8))
}

// pairKey writes the key that matches a start and its end. It reports whether all of
// it could be read.
func (r *reading) pairKey(key []byte) bool {
	for i := range r.sig.Aggregate.Pair {
		part := &r.sig.Aggregate.Pair[i]
		if !r.keyPart(part, key[part.Offset:part.Offset+part.Size]) {
			return false
		}
	}
	return true
}

// keyPart writes a part of a key to b, which is zero, and reports whether it could be
// read.
func (r *reading) keyPart(p *query.Part, b []byte) bool {
	switch {
	case p.In.Source == query.InputProbe:
		binary.NativeEndian.PutUint64(b, uint64(r.probe))
		return true
	case p.In.Source == query.InputComm:
		comm := r.rec[record.Comm:record.HeaderSize]
		if p.Prefix > 0 {
			comm = comm[:min(p.Prefix, len(comm))]
		}
		copy(b, comm)
		return true
	case p.In.Source == query.InputStack:
		binary.NativeEndian.PutUint64(b, r.stackHash())
		return true
	case p.In.Source == query.InputComputed:
		bits, failed := r.compute(p)
		binary.NativeEndian.PutUint64(b, bits)
		return failed < 0
	case p.IsString():
		str, length, ok := r.str(&p.In)
		if ok && p.Fold != nil {
			str, length = r.fold(p.Fold, str, length)
		}
		most := p.Most()
		if p.Prefix > 0 {
			length = min(length, uint64(most))
		}
		binary.NativeEndian.PutUint64(b, min(length, uint64(most)+1))
		copy(b[query.StringData:], str[:min(len(str), most)])
		return ok
	}
	bits, ok := r.number(&p.In)
	if p.In.Kind == reader.Float {
		bits = plainFloat(bits)
	}
	binary.NativeEndian.PutUint64(b, bits)
	return ok
}

// compute returns the result of an expression, or the step that failed; -1 if none has.
func (r *reading) compute(p *query.Part) (result uint64, failed int) {
	return filter.Compute(p.Steps, func(v filter.Value) (uint64, bool) { return r.number(&p.Inputs[v.Index]) })
}

// partMark returns the mark of a part of a key that could not be read.
func (r *reading) partMark(p *query.Part) uint8 {
	if p.In.Source != query.InputComputed {
		return r.mark(&p.In)
	}
	_, failed := r.compute(p)
	if s := &p.Steps[failed]; s.Op == filter.Load {
		return r.mark(&p.Inputs[s.Value.Index])
	}
	return query.MarkDivision
}

// fold returns what a function makes of a string, and its length. If the record lacks the
// end of the string, so does the result, which says that by "...".
func (r *reading) fold(f *fold.Function, str []byte, length uint64) ([]byte, uint64) {
	r.folded = f.Append(r.folded[:0], str)
	if length > uint64(len(str)) {
		r.folded = append(r.folded, "..."...)
	}
	return r.folded, uint64(len(r.folded))
}

// plainFloat makes the bits of equal numbers equal, and the bits of all NaNs.
func plainFloat(bits uint64) uint64 {
	const inf = 0x7ff << 52
	switch unsigned := bits << 1 >> 1; {
	case unsigned == 0: // -0
		return 0
	case unsigned > inf:
		return inf | inf>>1 // a quiet NaN
	}
	return bits
}
