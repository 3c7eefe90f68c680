package recorder

import (
	"encoding/binary"

	"github.com/go-usdt/usdt/attach/internal/naming"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/decode"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/internal/tracefile"
	"github.com/go-usdt/usdt/reader"
)

// stacks replaces the stacks of records by numbers of what is written to a file: the
// addresses, and what they are called now, while their processes may live.
type stacks struct {
	code    *naming.Code
	decoder decode.Decoder
	file    *tracefile.Writer

	// known has the numbers of stacks whose names cannot have changed, by the version of the
	// names, the site and the bytes of the stack.
	known      map[string]uint64
	size       int    // bytes of its keys
	generation uint64 // of the numbers
	key        []byte // memory for one
}

// knownSize is how many bytes the keys of known stacks take.
const knownSize = 8 << 20

// newStacks returns nil if records have no stacks. sites returns the shape and the probe
// of a site in the file.
func newStacks(s *Session, file *tracefile.Writer, sites func(uint32) (*shape.Shape, *reader.Probe)) *stacks {
	if s.Code == nil {
		return nil
	}
	d := decode.NewDecoder(sites, s.Clock.Wall)
	d.NameCode(s.Code.Of)
	return &stacks{code: s.Code, decoder: d, file: file, known: map[string]uint64{}}
}

// replace returns a record with the number of its stack in the stack's place, in the same memory
// if there is room.
func (w *stacks) replace(rec record.Record, st *record.Stack) (record.Record, error) {
	start, err := st.Start(rec)
	if err != nil {
		start = len(rec)
	}
	var stack *event.Stack
	raw := rec[start:]
	if st.Copied > 0 { // which is never the same
		stack = w.decoder.StackOf(rec)
		raw = nil
	}
	number, known := w.find(rec, raw, stack)
	if !known {
		if stack == nil {
			stack = w.decoder.StackOf(rec)
		}
		saved := &tracefile.Stack{PCs: stack.PCs, Names: decode.NamesOf(stack)}
		if stack.Err != nil {
			saved.Err = stack.Err.Error()
		}
		if number, err = w.file.Stack(saved); err != nil {
			return rec, err
		}
		w.remember(number)
	}
	return binary.NativeEndian.AppendUint64(rec[:start], number), nil
}

// find returns the number of a stack that has been written: of its bytes in the record or, if
// there is one, of the stack that they lead to.
func (w *stacks) find(rec record.Record, raw []byte, stack *event.Stack) (number uint64, known bool) {
	w.key = w.key[:0]
	of := w.code.Process(rec.PID())
	if of == nil {
		return 0, false
	}
	w.key = binary.NativeEndian.AppendUint64(w.key, of.Version())
	w.key = binary.NativeEndian.AppendUint32(w.key, rec.Site())
	if w.key = append(w.key, raw...); stack != nil {
		for _, pc := range stack.PCs {
			w.key = binary.NativeEndian.AppendUint64(w.key, pc)
		}
		if stack.Err != nil {
			w.key = append(w.key, stack.Err.Error()...)
		}
	}
	number, known = w.known[string(w.key)]
	return number, known
}

// remember remembers the number of the stack that was not found.
func (w *stacks) remember(number uint64) {
	if generation := number >> 32; generation != w.generation || w.size+len(w.key) > knownSize {
		clear(w.known)
		w.generation, w.size = generation, 0
	}
	if len(w.key) > 0 {
		w.known[string(w.key)] = number
		w.size += len(w.key) + 64 // and what a map takes
	}
}
