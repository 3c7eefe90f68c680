package recorder

import (
	"encoding/binary"
	"iter"
	"slices"
	"sync"

	"github.com/go-usdt/usdt/attach/internal/numbering"
	"github.com/go-usdt/usdt/internal/record"
)

// Newest keeps the newest records of a session in memory. Its methods may be called by several
// goroutines.
type Newest struct {
	Most int // bytes

	mu    sync.Mutex
	size  int
	parts []part
}

// part holds records of equal sites, each behind its length. Bytes of data never change.
type part struct {
	table *numbering.Table
	data  []byte
}

// partSize is how much memory a part takes, unless one record takes more.
const partSize = 64 << 10

// Add keeps a copy of a record, whose number is one of a table, instead of the oldest.
func (n *Newest) Add(rec record.Record, table *numbering.Table) {
	n.mu.Lock()
	defer n.mu.Unlock()
	need := 4 + len(rec)
	last := len(n.parts) - 1
	if last < 0 || n.parts[last].table != table || cap(n.parts[last].data)-len(n.parts[last].data) < need {
		n.parts = append(n.parts, part{table, make([]byte, 0, max(partSize, need))})
		for n.size += max(partSize, need); n.size > n.Most && len(n.parts) > 1; n.parts = n.parts[1:] {
			n.size -= cap(n.parts[0].data)
			n.parts[0].data = nil
		}
		last = len(n.parts) - 1
	}
	p := &n.parts[last]
	p.data = append(binary.NativeEndian.AppendUint32(p.data, uint32(len(rec))), rec...)
}

// Now returns the records that are kept now, the oldest first, and the tables of their sites.
// Records may be changed until the next one.
func (n *Newest) Now() iter.Seq2[record.Record, *numbering.Table] {
	n.mu.Lock()
	parts := slices.Clone(n.parts)
	n.mu.Unlock()
	return func(yield func(record.Record, *numbering.Table) bool) {
		var rec []byte
		for _, p := range parts {
			for data := p.data; len(data) > 0; {
				size := binary.NativeEndian.Uint32(data)
				rec = append(rec[:0], data[4:4+size]...)
				data = data[4+size:]
				if !yield(rec, p.table) {
					return
				}
			}
		}
	}
}
