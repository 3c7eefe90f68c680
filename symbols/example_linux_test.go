package symbols_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"

	"github.com/go-usdt/usdt/symbols"
)

// A process's stack as text; here this process has one. A tracer gets the addresses
// from the kernel.
func ExampleSpace_Stack() {
	pcs := make([]uintptr, 8)
	pcs = pcs[:runtime.Callers(1, pcs)]

	r := symbols.NewResolver(nil)
	defer r.Close()
	space, err := r.Process(os.Getpid())
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range space.Stack(symbols.Calls{PCs: []uint64{uint64(pcs[0] - 1)}}) {
		fmt.Println(f.Func, filepath.Base(f.File), f.Line)
	}
	// Output: github.com/go-usdt/usdt/symbols_test.ExampleSpace_Stack example_linux_test.go 17
}

// Code of a process that has ended, by the build-id and the offset that the kernel has
// stored (BPF_F_USER_BUILD_ID).
func ExampleResolver_AppendFrames() {
	r := symbols.NewResolver(nil)
	defer r.Close()
	id, err := r.Add("/proc/self/exe") // or its Process, while it ran
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range r.AppendFrames(nil, id, 0x10) {
		fmt.Println(f)
	}
	// Output: [unknown] (exe+0x10)
}
