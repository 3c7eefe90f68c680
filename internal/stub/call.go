//go:build amd64 || arm64

package stub

import "unsafe"

// call is the assembly behind Call; see there for its contract.
//
// It is not NOSPLIT: its prologue makes sure of Go's reserve below the stack
// pointer (internal/abi: StackNosplitBase, 800 bytes), of which a kernel that
// turns the site into a call uses up to 160. The frame is empty but for the
// return address that the call pushes. All registers of the C ABI that a
// callee may change, may have changed; the stub itself changes none.
//
// While the site executes, R14 (arm64: R28) holds the address of the goroutine,
// as it does in compiled code (cmd/compile/abi-internal.md). On amd64 functions
// of ABI0 need not keep it there, so that call loads it from where the runtime
// has it for them; on arm64 the assembler gives the register to nobody else.
//
// The stub's address is read behind the prologue: from there to the return the
// runtime cannot preempt the goroutine, which Quiesce relies on.
//
//go:noescape
func call(site *uintptr, b *Block, addresses uint64)

// callAt is the assembly behind CallAt. What is said of call holds for it.
//
//go:noescape
func callAt(site *uintptr, block unsafe.Pointer, word uintptr)
