package tally

import (
	"encoding/binary"
	"slices"

	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/symbols"
)

// reading reads the inputs of conditions and aggregates from a record.
type reading struct {
	sig     *query.Signature
	rec     record.Record
	failed  uint64
	probe   int           // stands for the probe in keys
	elapsed uint64        // since the start, of an end
	fault   query.Fault   // of the condition
	address [16]byte      // memory for one as a string
	folded  []byte        // memory for the result of a function
	stack   symbols.Calls // with memory for the next one
	unwind  func(dst []uint64, st *record.Stack, rec record.Record) (symbols.Calls, error)
	saved   *event.Stack // of a recording; nil for none
	savedOf func(number uint64) *event.Stack
}

// set prepares the reading of a record, which it reports to be whole.
func (r *reading) set(sig *query.Signature, rec record.Record) bool {
	if len(rec) < sig.FixedSize() {
		return false
	}
	r.sig, r.rec, r.failed = sig, rec, sig.Failed(rec)
	return true
}

func (r *reading) hasFailed(read int) bool { return r.failed&(1<<read) != 0 }

// word returns the 8 bytes at an offset from the start of the block.
func (r *reading) word(offset uint32) uint64 {
	return binary.NativeEndian.Uint64(r.rec[r.sig.BlockOffset()+int(offset):])
}

// number returns a number, extended to 64 bits by its sign. The bits of a
// floating-point number of 32 bits lie in the upper half. number reports whether the
// number could be read.
func (r *reading) number(in *query.Input) (bits uint64, ok bool) {
	switch in.Source {
	case query.InputPID:
		bits = uint64(r.rec.PID())
	case query.InputTID:
		bits = uint64(r.rec.TID())
	case query.InputThread:
		bits = binary.NativeEndian.Uint64(r.rec[record.Task:])
	case query.InputElapsed:
		bits = r.elapsed
	case query.InputConstant:
		bits = in.Value
	case query.InputOperand:
		if r.hasFailed(in.Index) {
			return 0, false
		}
		bits = r.rec.Slot(in.Index)
	case query.InputBlock:
		if r.hasFailed(r.sig.RegionRead(in.Offset)) {
			return 0, false
		}
		bits = record.Number(r.rec[r.sig.BlockOffset()+int(in.Offset):], in.SiteSize())
	case query.InputGoTime:
		if r.hasFailed(r.sig.RegionRead(in.Offset)) {
			return 0, false
		}
		return uint64(notes.GoTime(r.word(in.Offset), int64(r.word(in.Offset+8)))), true
	default:
		return 0, false
	}
	unused := 64 - 8*int(in.SiteSize())
	switch bits <<= unused; {
	case in.Kind == reader.Float && in.Widened:
		narrow := query.Input{Kind: in.Kind, Size: in.SiteSize()}
		return narrow.Wide(bits), true
	case in.Kind == reader.Float:
		return bits, true
	case in.Signed():
		return uint64(int64(bits) >> unused), true
	}
	return bits >> unused, true
}

// str returns the beginning of a string and its length, which is more than the
// beginning's if the record lacks the rest. str reports whether it could be read.
// The result is valid until the next call.
func (r *reading) str(in *query.Input) (b []byte, length uint64, ok bool) {
	switch in.Source {
	case query.InputComm:
		comm := r.rec[record.Comm:record.HeaderSize]
		if end := slices.Index(comm, 0); end >= 0 {
			comm = comm[:end]
		}
		return comm, uint64(len(comm)), true
	case query.InputGoAddr:
		if r.hasFailed(r.sig.RegionRead(in.Offset)) {
			return nil, 0, false
		}
		var n int
		r.address, n = notes.GoAddr(r.word(in.Offset), r.word(in.Offset+8), r.word(in.Offset+16), r.rec.Slot(shape.IPv4Slot))
		return r.address[:n], uint64(n), true
	case query.InputBytes, query.InputChars:
		if r.hasFailed(r.sig.RegionRead(in.Offset)) {
			return nil, 0, false
		}
		b = r.rec[r.sig.BlockOffset()+int(in.Offset):][:in.Value]
		if end := slices.Index(b, 0); end >= 0 && in.Source == query.InputChars {
			b = b[:end]
		}
		return b, uint64(len(b)), true
	case query.InputString:
		return r.recorded(slices.Index(r.sig.Strings, in.String))
	}
	return nil, 0, false
}

// recorded returns string i of the record as str does. A negative i stands for one
// that is not recorded.
func (r *reading) recorded(i int) (b []byte, length uint64, ok bool) {
	if i < 0 {
		return nil, 0, false
	}
	rest := r.rec[r.sig.FixedSize():]
	for j := range r.sig.Strings[:i+1] {
		s := &r.sig.Strings[j]
		if r.hasFailed(r.sig.FirstString()+j) || s.Sized && r.hasFailed(s.Region) {
			if j == i {
				return nil, 0, false
			}
			continue
		}
		length = r.length(s)
		limit := uint64(r.sig.Limit / s.Width())
		have := min(length, limit) * uint64(s.Width())
		if !s.Sized && !s.Counted {
			have = length // one byte more than the limit shows that the string goes on
		}
		if have > uint64(len(rest)) {
			return nil, 0, false // the record is not whole
		}
		b, rest = rest[:have], rest[have:]
	}
	return b, length, true
}

// length returns the number of bytes, or elements, of a string.
func (r *reading) length(s *record.String) uint64 {
	switch {
	case s.Sized:
		return r.word(s.Length)
	case !s.Counted:
		return r.rec.Slot(s.Slot)
	}
	n := record.Number(r.rec[record.Slot(s.LengthSlot):], s.LengthSize)
	if unused := 64 - 8*int(s.LengthSize); s.LengthSigned {
		return uint64(int64(n<<unused) >> unused)
	}
	return n
}

// mark returns the mark of an input that could not be read.
func (r *reading) mark(in *query.Input) uint8 {
	s := &in.String
	switch {
	case in.InBlock():
		return r.onTheWay(in.Offset)
	case in.Source != query.InputString:
	case s.Sized:
		return r.onTheWay(s.Length)
	case r.hasFailed(s.Slot):
	case r.rec.Slot(s.Slot) == 0:
		return query.MarkNil
	case s.Counted && s.LengthSigned && !r.hasFailed(s.LengthSlot) && int64(r.length(s)) < 0:
		return query.MarkNegative
	}
	return query.MarkFault
}

// onTheWay returns the mark of what lies at an offset from the start of the block:
// whether a pointer on the way there is nil.
func (r *reading) onTheWay(offset uint32) uint8 {
	block := r.sig.BlockRead()
	for read := r.sig.RegionRead(offset); read != block; {
		if !r.hasFailed(read) {
			break
		}
		pointer := r.sig.Indirects[read-block-1].Pointer
		if r.word(pointer) != 0 {
			break
		}
		if read = r.sig.RegionRead(pointer); !r.hasFailed(read) {
			return query.MarkNil
		}
	}
	if r.sig.IsNil(r.rec) {
		return query.MarkNil
	}
	return query.MarkFault
}
