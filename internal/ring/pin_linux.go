//go:build amd64 || arm64

package ring

import _ "unsafe" // for go:linkname

// pin keeps the calling goroutine on its P, the runtime's right to run Go code, and
// returns the P's number, which is below GOMAXPROCS. Until unpin, nobody else runs on
// that P, so what belongs to the P needs no atomic instructions. The goroutine must
// not block meanwhile. The runtime promises to keep both functions for packages that link to them
// (go.dev/issue/67401).
//
//go:linkname pin runtime.procPin
func pin() int

//go:linkname unpin runtime.procUnpin
func unpin()
