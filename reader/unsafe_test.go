package reader_test

import "unsafe"

func addressOf(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(&b[0]))) }

// memoryAt returns n bytes that the test has mapped.
func memoryAt(addr uint64, n int) []byte { return unsafe.Slice(*(**byte)(unsafe.Pointer(&addr)), n) }

// semaphoreAt returns the semaphore at addr, in memory that the test has mapped and
// that the garbage collector does not know.
func semaphoreAt(addr uint64) *uint16 { return *(**uint16)(unsafe.Pointer(&addr)) }
