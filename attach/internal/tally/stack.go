package tally

import (
	"encoding/binary"
	"slices"

	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/symbols"
)

// stackHash returns the hash of the stack in the record, or the number of a saved one, 0 if
// there is none.
func (r *reading) stackHash() uint64 {
	st := &r.sig.Stack
	var err error
	if r.saved = nil; st.Saved {
		number := st.Number(r.rec)
		if r.saved = r.savedOf(number); r.saved == nil || len(r.saved.PCs) == 0 {
			return 0
		}
		return number
	}
	if st.Copied > 0 {
		r.stack, err = r.unwind(r.stack.PCs[:0], st, r.rec)
		r.stack.PCs = r.stack.PCs[:min(len(r.stack.PCs), st.Most+1)] // one more says that there are more
	} else {
		r.stack = symbols.Calls{PCs: r.stack.PCs[:0]}
		if r.stack.PCs, err = st.AppendKernel(r.stack.PCs, r.rec); err != nil {
			return 0
		}
		kernel := len(r.stack.PCs)
		r.stack.PCs, err = st.Append(r.stack.PCs, r.rec)
		if kernel > 0 { // perhaps a thread of the kernel, which has no program
			r.stack.PCs, err = r.stack.PCs[:min(len(r.stack.PCs), st.Most)], nil
		}
	}
	if err != nil || len(r.stack.PCs) == 0 {
		return 0
	}
	return query.StackHash(r.rec.PID(), r.stack)
}

// keepStack keeps the stack of the event that is being read, whose group has such a key.
func (t *Tally) keepStack(key []byte) {
	r := &t.reading
	part := r.sig.Aggregate.StackPart()
	if part == nil {
		return
	}
	hash := binary.NativeEndian.Uint64(key[part.Offset:])
	if _, known := t.stacks[hash]; known || hash == 0 {
		return
	}
	if t.stacks == nil {
		t.stacks = map[uint64]query.GroupStack{}
	}
	st := query.GroupStack{PID: r.rec.PID(), Site: int(r.rec.Site()), Saved: r.saved}
	if r.saved == nil {
		st.Calls = r.stack
		st.PCs = slices.Clone(r.stack.PCs)
	}
	t.stacks[hash] = st
}

// KeepStacks removes the stacks that no group has. part is that of keys, nil for none.
func KeepStacks[S any](stacks map[uint64]S, groups map[string][]uint64, part *query.Part) {
	if part == nil {
		return
	}
	used := make(map[uint64]bool, len(groups))
	for key := range groups {
		used[binary.NativeEndian.Uint64([]byte(key[part.Offset:][:8]))] = true
	}
	for hash := range stacks {
		if !used[hash] {
			delete(stacks, hash)
		}
	}
}
