// Command deepgo waits deep in a stack: of inlined, generic and recursive functions,
// methods and closures, in a thread of its own. Before that, it writes what the runtime
// says about its stack: lines "pc ADDRESS" and "frame FUNCTION FILE LINE". It is built
// by versions of Go since 1.16, or since 1.18 with generic.go.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
)

//go:noinline
func wait() {
	pcs := make([]uintptr, 64)
	pcs = pcs[:runtime.Callers(1, pcs)]
	for _, pc := range pcs {
		fmt.Printf("pc %x\n", pc-1)
	}
	frames := runtime.CallersFrames(pcs)
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		fmt.Println("frame", f.Function, f.File, f.Line)
	}
	fmt.Println("thread", syscall.Gettid())
	fmt.Println("ready")
	var fds [2]int
	if err := syscall.Pipe(fds[:]); err != nil {
		panic(err)
	}
	syscall.RawSyscall(syscall.SYS_READ, uintptr(fds[0]), 0, 0)
	var b [1]byte
	syscall.Read(fds[0], b[:]) // nothing ever comes
}

func inner(n int)  { wait(); os.Getpid() }
func middle(n int) { inner(n * 2) }
func outer(n int)  { middle(n - 1) }

type receiver struct{ n int }

func (r *receiver) method() { call(r.n) }

//go:noinline
func recurse(n int, r *receiver) int {
	if n == 0 {
		strings.Map(func(c rune) rune { r.method(); return c }, "x")
		return 0
	}
	return recurse(n-1, r) + 1
}

func main() {
	done := make(chan int)
	go func() {
		runtime.LockOSThread()
		done <- recurse(4, &receiver{3})
	}()
	<-done
}
