//go:build !linux || (!amd64 && !arm64)

package ring

const counterSource = ""

func counter() uint64 { return 0 }
func pin() int        { return 0 }
func unpin()          {}

// Goroutine returns 0: there are no stubs on this architecture.
func Goroutine() uintptr { return 0 }
