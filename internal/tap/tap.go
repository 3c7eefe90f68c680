// Package tap carries what a provider's probes fire to those who listen in the same
// process: package providertest, which no service links.
package tap

import (
	"encoding/binary"
	"unsafe"

	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/stub"
)

// Listener is called for each probe that fires, by the goroutine that fires it, before
// tracers see the arguments. It must keep nothing of the block.
type Listener func(Fired)

// Fired is a probe that is being fired.
type Fired struct {
	Name string
	// Signature says, with the name, what [Source.Object] describes. Equal ones
	// describe the same arguments.
	Signature unsafe.Pointer
	Block     Block
}

// Source is a provider that is being listened to.
type Source struct {
	// Names returns the names of its probes.
	Names func() []string
	// Object returns an ELF object as Load generates it, of one probe.
	Object func(name string, signature unsafe.Pointer) ([]byte, error)
	// Stop ends it.
	Stop func()
}

// Block is an argument block where the program has it, which may be the stack of the
// goroutine. It must not be stored, not even in a closure or an interface: memory on
// the heap is not told when the stack moves.
type Block struct {
	slots     *stub.Block // nil of a record
	addresses uint64
	record    unsafe.Pointer
	ipv4      uintptr
}

// Slots is a block of slots, of which those with a bit in addresses are addresses.
func Slots(b *stub.Block, addresses uint64) Block { return Block{slots: b, addresses: addresses} }

// Record is a block that is a struct, and what notes.IPv4Register would hold.
func Record(at unsafe.Pointer, ipv4 uintptr) Block { return Block{record: at, ipv4: ipv4} }

// appendBytes appends the first size bytes of the block, nothing if there is none.
// Addresses in it may be out of date at once; for what they lead to see pointer.
func (b Block) appendBytes(dst []byte, size int) []byte {
	if b.slots == nil {
		if b.record == nil {
			return dst
		}
		return append(dst, unsafe.Slice((*byte)(b.record), size)...)
	}
	for i := range size / 8 {
		word := b.slots.Slot[i]
		if b.addresses&(1<<i) != 0 {
			word = uint64(uintptr(b.slots.Ptr[i]))
		}
		dst = binary.NativeEndian.AppendUint64(dst, word)
	}
	return dst
}

// AppendRecord appends a record of the block, as BPF programs write it, to dst. The
// layout must be that of the probe's types.
func (b Block) AppendRecord(dst []byte, l *record.Layout, h *record.Header) []byte {
	slots := []uint64{uint64(b.ipv4)}
	c := l.Begin(dst, h, slots, b.appendBytes(nil, int(l.Block)))
	for c.Next() {
		copy(c.To, unsafe.Slice((*byte)(b.pointer(l, c.Pointer)), len(c.To)))
	}
	return c.Record()
}

// pointer returns the pointer at an offset from the start of the block, where the
// program has it: in the block or in what a pointer leads to.
func (b Block) pointer(l *record.Layout, offset uint32) unsafe.Pointer {
	for i := range l.Indirects {
		if in := &l.Indirects[i]; offset >= in.Offset && offset-in.Offset < in.Room {
			return *(*unsafe.Pointer)(unsafe.Add(b.pointer(l, in.Pointer), offset-in.Offset))
		}
	}
	if b.slots != nil {
		return b.slots.Ptr[offset/8]
	}
	return *(*unsafe.Pointer)(unsafe.Add(b.record, offset))
}
