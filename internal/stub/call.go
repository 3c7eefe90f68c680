//go:build amd64 || arm64

package stub

import "unsafe"

// call is the assembly behind Call, which documents its contract.
//
// It is not NOSPLIT: its prologue ensures Go's reserve below the stack pointer
// (internal/abi: StackNosplitBase, 800 bytes). A kernel that turns the site into a
// call uses up to 160 bytes of the reserve. The frame is empty except for the return
// address that the call pushes. All registers that a callee of the C ABI may change,
// may have changed; the stub itself changes none.
//
// While the site executes, R14 (arm64: R28) holds the address of the goroutine, as it
// does in compiled code (cmd/compile/abi-internal.md). On amd64, functions of ABI0
// need not keep it there, so call loads it from where the runtime keeps it for them;
// on arm64 the assembler reserves the register.
//
// call reads the stub's address behind the prologue: from there to the return the
// runtime cannot preempt the goroutine, on which Quiesce relies.
//
//go:noescape
func call(site *uintptr, b *Block, addresses uint64)

// callAt is the assembly behind CallAt. The comment on call also applies to it.
//
//go:noescape
func callAt(site *uintptr, block unsafe.Pointer, word uintptr)

// Caller returns the address to which its caller returns or, if above is not 0, to
// which the function that many calls higher returns. It finds what runtime.Callers
// finds, in 2 ns instead of 400. It counts real frames, so none of the functions in
// between may be inlined.
//
// It follows frame pointers, which Go keeps on both architectures (cmd/compile:
// abi-internal.md), in assembly code, during which the stack does not move.
func Caller(above int) uintptr
