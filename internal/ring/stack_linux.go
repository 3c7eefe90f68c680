//go:build linux && (amd64 || arm64)

package ring

// Callers fills pcs with the addresses to which the calls on the goroutine's stack return,
// beginning with that of the function that calls Callers, and returns their number. It
// follows frame pointers, which Go code has on these machines, and is assembly code, during
// which the stack stays in place. It ends where the frames leave the goroutine's stack, as
// in code that C has called.
//
//go:noescape
func Callers(pcs []uintptr) int
