package ring

// counterSource is the kernel's name of a clock that reads the counter.
const counterSource = "arch_sys_counter"

// counter returns the CPU's virtual counter.
func counter() uint64

// Goroutine returns the address of the goroutine that calls it.
func Goroutine() uintptr
