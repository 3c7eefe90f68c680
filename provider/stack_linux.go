//go:build !usdt_nolocal

package provider

import (
	"unsafe"

	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/ring"
)

// maxStack is the largest number of addresses that a local tracer may ask for: those of the
// program's calls and of this package's own.
const maxStack = record.MaxStack + 10

// recordStack is record for a tracer that also asks for the stack.
//
//go:noinline
func (w *watcher) recordStack(all *words, size int, texts []*ring.Text) {
	first := all[ring.MaxSlots-len(w.slots):]
	w.fillSlots(first[:len(w.slots)], 0)
	buf := captures.Get().(*[]byte)
	b := append((*buf)[:0], unsafe.Slice((*byte)(unsafe.Pointer(&first[0])), 8*len(w.slots)+size)...)
	for _, t := range texts {
		b = append(b, unsafe.Slice((*byte)(t.At), min(t.Length, uintptr(w.limit)))...)
	}
	b = w.appendStack(b)
	r := ring.Record{Block: unsafe.Pointer(unsafe.SliceData(b)), Size: uintptr(len(b))}
	r.Site(w.number, len(w.slots), false)
	w.ring.Write(&r)
	*buf = b
	captures.Put(buf)
}

// appendStack appends the calls that led here to the body of a record.
func (w *watcher) appendStack(b []byte) []byte {
	var pcs [maxStack]uintptr
	return record.AppendStack(b, pcs[:ring.Callers(pcs[:w.stack])])
}
