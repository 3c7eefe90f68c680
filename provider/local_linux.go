//go:build !usdt_nolocal

package provider

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/rendezvous"
	"github.com/go-usdt/usdt/internal/ring"
	"github.com/go-usdt/usdt/internal/stub"
	"github.com/go-usdt/usdt/internal/tap"
)

// watcher is the interest of a local tracer in a probe. It does not change, so that
// firing needs no lock; a list that loses one is made anew.
type watcher struct {
	next    *watcher
	ring    *ring.Writer
	counter *uint32 // the semaphore that it has raised
	number  uint32  // of the site in records
	limit   int     // bytes of each string
	slots   []rendezvous.Slot
	where   []term
	sample  *ring.Sample   // nil for all events
	layout  *record.Layout // of a record that is more than its block; nil for others
	chooses bool           // whether where or sample leave events out
	early   bool           // whether the arguments alone tell what where leaves out
	simple  *term          // the only one of where, if it compares 8 bytes of an integer; nil for others
	direct  bool           // whether a record is the arguments as they are
	stack   int            // addresses of the stack; 0 for no stack
}

// prepare finds out how w records what has a signature. It is called when all else is
// known.
func (w *watcher) prepare(s *signature) {
	w.chooses, w.early = len(w.where) > 0 || w.sample != nil, len(w.where) > 0
	for i := range w.where {
		w.early = w.early && w.where[i].argument != noArgument
	}
	if t := w.where; w.early && len(t) == 1 && t[0].Size == 8 && t[0].Kind != rendezvous.Float {
		w.simple = &t[0]
	}
	w.direct = !w.chooses && w.stack == 0 && (len(w.slots) == 0 || len(w.slots) == 1 && w.slots[0] == rendezvous.Goroutine)
	for _, a := range s.args {
		w.direct = w.direct && a.kind.isWord()
	}
}

// isWord reports whether the slot of an argument is its 8 bytes.
func (k kind) isWord() bool {
	return k == kindInt64 || k == kindUint64 || k == kindFloat64 || k == kindDuration
}

// watchers returns the first watcher of the probe.
func (p *probe) watchers() *watcher { return (*watcher)(atomic.LoadPointer(&p.local)) }

// words are the argument block of a probe whose arguments travel in slots, behind room
// for the slots of a record's layout.
type words [ring.MaxSlots + stub.Slots]uint64

func (w *words) block() *[stub.Slots]uint64 { return (*[stub.Slots]uint64)(w[ring.MaxSlots:]) }

// converted reports whether one of the arguments does not begin as a [ring.Text].
func (s *signature) converted() bool {
	for _, a := range s.args {
		if a.kind == kindText || a.kind == kindAddr || a.kind >= kindNetIP {
			return true
		}
	}
	return false
}

// pass records a firing for each watcher.
func (w *watcher) pass(s *signature, args []unsafe.Pointer) {
	// Events that the arguments themselves leave out need not be laid out.
	for w.early {
		if t := w.simple; t != nil && (*(*uint64)(args[t.argument])-t.Low <= t.Span) != t.Outside ||
			t == nil && holds(w.where, nil, args) {
			break
		}
		w.ring.Filter()
		if w = w.next; w == nil {
			return
		}
	}
	if w.direct && w.next == nil {
		r := ring.Words(args, len(w.slots) > 0)
		r.Site(w.number, len(w.slots), false)
		w.ring.Write(&r)
		return
	}
	if s.addresses != 0 {
		if s.converted() {
			w.passConverted(s, args)
		} else {
			w.passTexts(s, args)
		}
		return
	}
	var all words
	block := all.block()
	s.put(block, nil, args)
	for ; w != nil; w = w.next {
		if w.chooses && !w.wants(unsafe.Pointer(block)) {
			continue
		}
		if len(w.slots) > 0 || w.stack > 0 {
			w.record(&all, 8*len(args), nil)
			continue
		}
		// The memory that r points to stays in place and reachable until Write returns.
		r := ring.Record{Block: unsafe.Pointer(block), Size: uintptr(8 * len(args))}
		r.Site(w.number, 0, false)
		w.ring.Write(&r)
	}
}

// passConverted is passTexts for arguments of which some are Texts, addresses or arrays,
// which it converts. Each [Text] becomes one that is made: Fire's copy of the argument, not the
// caller's.
//
//go:noinline
func (w *watcher) passConverted(s *signature, args []unsafe.Pointer) {
	var converted [maxArgs]unsafe.Pointer
	var texts [maxArgs]struct {
		text  ring.Text
		bytes [16]byte
	}
	for i, v := range args {
		converted[i] = v
		switch s.args[i].kind {
		case kindText:
			t := (*Text)(v)
			*t = made(t.string())
			texts[i].text = ring.Text{At: t.value, Length: uintptr(t.length)}
			converted[i] = noescape(unsafe.Pointer(&texts[i].text))
		case kindAddr:
			b, n := (*IP)(v).of()
			texts[i].bytes = b
			texts[i].text = ring.Text{At: noescape(unsafe.Pointer(&texts[i].bytes)), Length: uintptr(n)}
			converted[i] = noescape(unsafe.Pointer(&texts[i].text))
		case kindNetIP:
			b := unmapped(*(*[]byte)(v))
			texts[i].text = ring.Text{At: unsafe.Pointer(unsafe.SliceData(b)), Length: uintptr(len(b))}
			converted[i] = noescape(unsafe.Pointer(&texts[i].text))
		default:
			if k := s.args[i].kind; k.isArray() {
				texts[i].text = ring.Text{At: noescape(v), Length: uintptr(k - kindArray)}
				converted[i] = noescape(unsafe.Pointer(&texts[i].text))
			}
		}
	}
	w.passTexts(s, converted[:len(args)])
}

// passTexts is pass for arguments of which some are strings or bytes, both of which
// begin as a [ring.Text] does, or such a Text.
//
//go:noinline
func (w *watcher) passTexts(s *signature, args []unsafe.Pointer) {
	var all words
	var texts [maxArgs]*ring.Text
	block, n, numbers := all.block(), 0, false
	for i, v := range args {
		switch a := s.args[i]; {
		case a.kind.isWord():
			block[a.slot] = *(*uint64)(v)
		case s.addresses&(1<<a.slot) != 0:
			texts[n] = (*ring.Text)(v)
			block[a.lenSlot] = uint64(texts[n].Length) // the address stays 0
			n++
		default:
			numbers = true
		}
	}
	if numbers {
		s.put(block, nil, args)
	}
	for ; w != nil; w = w.next {
		if !w.chooses || w.wants(unsafe.Pointer(block)) {
			w.record(&all, int(s.typ.Bytes), texts[:n])
		}
	}
}

// record records an argument block of size bytes with its texts.
func (w *watcher) record(all *words, size int, texts []*ring.Text) {
	if w.stack > 0 {
		w.recordStack(all, size, texts)
		return
	}
	first := ring.MaxSlots - len(w.slots)
	if len(w.slots) > 0 {
		w.fillSlots(all[first:ring.MaxSlots], 0)
	}
	// The memory that r points to stays in place and reachable until Write returns.
	r := ring.Record{Block: unsafe.Pointer(&all[first]), Size: uintptr(8*len(w.slots) + size)}
	if len(texts) > 0 {
		r.Texts, r.Count, r.Limit = unsafe.SliceData(texts), uintptr(len(texts)), uintptr(w.limit)
	}
	r.Site(w.number, len(w.slots), false)
	w.ring.Write(&r)
}

func (w *watcher) fillSlots(to []uint64, ipv4 uintptr) {
	for i, s := range w.slots {
		switch s {
		case rendezvous.IPv4:
			to[i] = uint64(ipv4)
		case rendezvous.Goroutine:
			to[i] = uint64(ring.Goroutine())
		}
	}
}

// wants reports whether an event is to be recorded, and counts it if not.
func (w *watcher) wants(block unsafe.Pointer) bool {
	if len(w.where) > 0 && !holds(w.where, block, nil) || w.sample != nil && !w.sample.Take() {
		w.ring.Filter()
		return false
	}
	return true
}

// captures holds buffers for the records of Go structs.
var captures = sync.Pool{New: func() any { return new([]byte) }}

// passRecord records a firing of a struct for each watcher. The struct is nil if the
// program passed none.
func (w *watcher) passRecord(s *signature, block unsafe.Pointer, ipv4 uintptr) {
	for ; w != nil; w = w.next {
		if block != nil && !w.wants(block) || block == nil && !w.wantsNone() {
			continue
		}
		var r ring.Record
		if w.layout == nil && w.stack == 0 && block != nil {
			r.Block, r.Size = noescape(block), uintptr(s.size())
			r.Site(w.number, 0, false)
			w.ring.Write(&r)
			continue
		}
		w.capture(s, block, ipv4)
	}
}

// wantsNone is wants for an event without arguments, of which no comparison is true.
func (w *watcher) wantsNone() bool {
	if len(w.where) > 0 {
		w.ring.Filter()
		return false
	}
	return w.wants(nil)
}

// capture records a struct with what its pointers lead to.
func (w *watcher) capture(s *signature, block unsafe.Pointer, ipv4 uintptr) {
	var slots [ring.MaxSlots]uint64
	w.fillSlots(slots[:len(w.slots)], ipv4)
	l := w.layout
	if l == nil {
		l = &record.Layout{Slots: len(w.slots), Block: s.size()}
	}
	buf := captures.Get().(*[]byte)
	var h record.Header
	b := tap.Record(noescape(block), ipv4).Capture((*buf)[:0], l, &h, slots[:])
	for i := range l.Strings {
		// Nobody needs the address any more.
		order.PutUint64(b[l.BlockOffset()+int(l.Strings[i].Pointer):], 0)
	}
	if w.stack > 0 {
		b = w.appendStack(b)
	}
	body := b[record.HeaderSize:]
	r := ring.Record{Block: unsafe.Pointer(unsafe.SliceData(body)), Size: uintptr(len(body))}
	r.Site(w.number, l.Slots, true)
	w.ring.Write(&r)
	*buf = b
	captures.Put(buf)
}

// maxStack is the largest number of addresses that a local tracer may ask for: the addresses of
// the program's calls and of this package's own.
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
