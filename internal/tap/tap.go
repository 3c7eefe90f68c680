// Package tap passes what a provider's probes fire to listeners in the same process:
// to package providertest, which no service links.
package tap

import (
	"runtime/debug"
	"unsafe"

	"github.com/go-usdt/usdt/internal/btfgen"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/stub"
)

// Listener is called for each firing, by the goroutine that fires, before tracers see
// the arguments. It must keep nothing of the block.
type Listener func(Fired)

// Fired is one firing of a probe.
type Fired struct {
	Name string
	// Type describes the block; nil if the probe has no arguments.
	Type  *btfgen.Struct
	Block Block
}

// Source is a provider with a listener.
type Source struct {
	// Names returns the names of its probes.
	Names func() []string
	// Stop ends the calls of the listener.
	Stop func()
}

// Block is an argument block at its place in the program, which may be the stack of
// the goroutine. It must not be stored, not even in a closure or an interface: when
// the stack moves, the runtime does not update memory on the heap.
type Block struct {
	slots     *stub.Block // nil for a record
	addresses uint64
	record    unsafe.Pointer
	ipv4      uintptr
}

// Slots returns a block of slots. Each bit in addresses marks a slot that is an
// address.
func Slots(b *stub.Block, addresses uint64) Block { return Block{slots: b, addresses: addresses} }

// Record returns a block that is a struct. ipv4 is the value that the register of
// notes.IPv4Register would hold.
func Record(at unsafe.Pointer, ipv4 uintptr) Block { return Block{record: at, ipv4: ipv4} }

// IsNil reports whether the block is a record that is nil.
func (b Block) IsNil() bool { return b.slots == nil && b.record == nil }

// IPv4 returns the ipv4 of [Record].
func (b Block) IPv4() uint64 { return uint64(b.ipv4) }

// Value returns where a value lies that is not an address, at an offset from the start of
// the block. Whatever keeps the block valid keeps the place.
func (b Block) Value(offset uint32) unsafe.Pointer {
	if b.slots != nil {
		return unsafe.Pointer(&b.slots.Slot[offset/8])
	}
	return unsafe.Add(b.record, offset)
}

// Pointer returns the pointer at an offset from the start of the block, as the runtime keeps it
// up to date.
func (b Block) Pointer(offset uint32) unsafe.Pointer {
	if b.slots != nil {
		return b.slots.Ptr[offset/8]
	}
	return *(*unsafe.Pointer)(unsafe.Add(b.record, offset))
}

// bytes returns the first size bytes of the block, or nothing if there is none. Those of
// slots are a copy in words. Addresses in the copy may be out of date at once; pointer
// returns what they lead to.
func (b Block) bytes(words *[stub.Slots]uint64, size int) []byte {
	if b.slots == nil {
		if b.record == nil {
			return nil
		}
		return unsafe.Slice((*byte)(b.record), size)
	}
	*words = b.slots.Slot
	for i := range words {
		if b.addresses&(1<<i) != 0 {
			words[i] = uint64(uintptr(b.slots.Ptr[i]))
		}
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(words)), min(size, len(words)*8))
}

// Capture appends a record of the block to dst, in the format that BPF programs write, with
// the slots of the layout, which must be that of the probe's types. Unreadable parts are marked
// as failed: other goroutines may change what pointers lead to, and a length may then belong to
// another pointer.
func (b Block) Capture(dst []byte, l *record.Layout, h *record.Header, slots []uint64) []byte {
	var words [stub.Slots]uint64
	c := l.Begin(dst, h, slots, b.bytes(&words, int(l.Block)))
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	for c.Next() {
		if !b.copy(&c, l) {
			c.Fail()
		}
	}
	return c.Record()
}

// copy copies what c asks for, and reports whether that could be read.
func (b Block) copy(c *record.Capture, l *record.Layout) (ok bool) {
	defer func() { ok = recover() == nil }()
	copy(c.To, unsafe.Slice((*byte)(b.pointer(l, c.Pointer)), len(c.To)))
	return true
}

// pointer returns the pointer at an offset from the start of the block, where the
// program has it: in the block or in what a pointer leads to.
func (b Block) pointer(l *record.Layout, offset uint32) unsafe.Pointer {
	for i := range l.Indirects {
		if in := &l.Indirects[i]; offset >= in.Offset && offset-in.Offset < in.Padded {
			return *(*unsafe.Pointer)(unsafe.Add(b.pointer(l, in.Pointer), offset-in.Offset))
		}
	}
	return b.Pointer(offset)
}
