package query

import (
	"slices"

	"github.com/go-usdt/usdt/internal/record"
)

// Omit says which fields of the header are 0 instead of what they are for: each takes a call
// of a helper, and to read the clock may cost more than everything else that a program does.
type Omit struct{ Time, Task, Comm bool }

// Tail returns how many bytes at the end of the header are omitted. Records in the ring do
// not have them: memory that the ring has not used for long is not in the caches, and takes
// longer to write than what else a small record needs.
func (o Omit) Tail() int {
	switch {
	case !o.Comm:
		return 0
	case !o.Task:
		return record.HeaderSize - record.Comm
	case !o.Time:
		return record.HeaderSize - record.Task
	}
	return record.HeaderSize - record.Time
}

// Expand makes a record of what a program has put into the ring: the header gets its Tail.
// It appends to rec, and changes it.
func (o Omit) Expand(rec []byte) []byte {
	n, size := o.Tail(), len(rec)
	head := record.HeaderSize - n
	if n == 0 || size < head {
		return rec
	}
	rec = slices.Grow(rec, n)[:size+n]
	copy(rec[head+n:], rec[head:size])
	clear(rec[head : head+n])
	return rec
}

// BehindHeader returns where in the ring's records something lies that follows the header; at
// is where it lies in a record with a whole header, as [record.Layout] has it.
func (s *Signature) BehindHeader(at int) int16 { return int16(at - s.Omit.Tail()) }
