// Heap is heap.c as a Go service.
package main

import (
	"log"

	"github.com/go-usdt/usdt/provider"
)

var (
	memory = provider.New("otel_memory", nil)
	alloc  = provider.NewProbe3[uintptr, uint64, uint64](memory, "alloc", "ptr", "size", "weight")
	free   = provider.NewProbe1[uintptr](memory, "free", "ptr")
	next   = uintptr(0x1000)
)

func address() uintptr {
	next += 16
	return next
}

//go:noinline
func keeps(size uint64) { alloc.Fire(address(), size, size) }

//go:noinline
func drops(size uint64) {
	ptr := address()
	alloc.Fire(ptr, size, size)
	free.Fire(ptr)
}

//go:noinline
func samples(size uint64) { alloc.Fire(address(), size, 512<<10) }

func main() {
	if err := memory.Load(); err != nil {
		log.Fatal(err)
	}
	defer memory.Close()
	for range 10 {
		keeps(1000)
	}
	for range 20 {
		drops(500)
	}
	samples(64)
	free.Fire(1) // never allocated
}
