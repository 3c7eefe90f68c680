package ring

// counterSource is the kernel's name of a clock that reads the counter.
const counterSource = "tsc"

// counter returns the CPU's time-stamp counter.
func counter() uint64

// Goroutine returns the address of the goroutine that calls it.
func Goroutine() uintptr
