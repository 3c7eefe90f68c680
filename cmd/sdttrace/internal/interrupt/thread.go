package interrupt

import "runtime"

// The first thread runs main alone. The kernel hands it the signals of a process, and a thread that waits
// for a file system that does not answer takes none.
func init() { runtime.LockOSThread() }

// Beside calls f on another thread than the first, which main waits on, and returns what f does.
func Beside(f func() int) int {
	done := make(chan int)
	go func() { done <- f() }()
	return <-done
}
