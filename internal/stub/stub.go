// Package stub makes the machine code of probe sites and calls it.
//
// A stub is a site instruction followed by a return. Tracers put their breakpoint on
// the site, where they find the registers that Call has loaded.
package stub

import (
	"runtime"
	"unsafe"

	"github.com/go-usdt/usdt/notes"
)

// Slots is the largest number of slots in an argument block.
const Slots = 12

// Block is the argument block of a call. It may lie on a goroutine's stack.
type Block struct {
	// Slot holds the arguments' values, see FORMAT.md.
	Slot [Slots]uint64
	// Ptr holds the values of those slots that are addresses. They are kept apart, as
	// pointers, because a stack that grows moves what they point to: Call copies them
	// into Slot once the stack can no longer move.
	Ptr [Slots]unsafe.Pointer
}

// Call calls the stub whose address is at site, with the argument block b. It does
// nothing if that address is 0.
//
// For each bit i of addresses, Call first sets b.Slot[i] to b.Ptr[i]. It loads the
// first slots into the integer argument registers of the C ABI, and the block's
// address into the register BlockReg. The memory that b points to stays reachable and in place
// until Call returns.
//
// At the site, the register in which Go keeps the goroutine (amd64: r14, arm64: x28)
// holds its address, whatever the caller did with the register.
//
// The stub must be one made by this package. It must stay mapped executable until
// Quiesce has returned after site was set to 0.
func Call(site *uintptr, b *Block, addresses uint64) {
	call(site, b, addresses)
}

// CallSlots is like Call with a block of which no slot is an address.
func CallSlots(site *uintptr, slots *[Slots]uint64) {
	call(site, (*Block)(unsafe.Pointer(slots)), 0) // reads Slot alone
}

// CallAt is like Call, with an argument block at any place, whose address it passes
// in the register BlockReg, and with a word in the first integer argument register of
// the C ABI.
func CallAt(site *uintptr, block unsafe.Pointer, word uintptr) { callAt(site, block, word) }

// Quiesce returns once every Call that may have read an earlier address has returned.
//
// Calls read the address and enter the stub in assembly code, where the runtime
// neither preempts nor stops a goroutine: to stop the world, the runtime waits until
// they have left. Stack stops the world for all goroutines' stacks, also if the buffer for
// them is empty. A test checks both.
func Quiesce() {
	runtime.Stack(nil, true)
}

// Code describes the stubs on this machine for one kind of site.
type Code struct {
	Site   notes.SiteKind
	Bytes  []byte // the site instruction, then a return
	Stride uint64 // distance from one stub to the next; keeps every site within a page
}
