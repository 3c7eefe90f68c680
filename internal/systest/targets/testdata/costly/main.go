// Costly KIND N fires a probe N times, and says how much CPU time each takes with the work around it.
package main

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/provider"
)

var (
	costly = provider.New("costly", nil)
	number = provider.NewProbe2[int, int](costly, "number", "n", "m")
	text   = provider.NewProbe2[int, string](costly, "text", "n", "text")
)

var sum uint64 = 88172645463325252

//go:noinline
func work() {
	x := sum // in a register: processors learn to do without the memory, and forget that in a trap
	for range 60 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	sum = x
}

func now() int64 {
	var t unix.Timespec
	unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t)
	return t.Nano()
}

func main() {
	if err := costly.Load(); err != nil {
		panic(err)
	}
	n, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	begin := now()
	for i := range n {
		work()
		if os.Args[1] == "number" {
			number.Fire(i, i)
		} else {
			text.Fire(i, "a text of some thirty-two bytes")
		}
	}
	fmt.Fprintf(os.Stderr, "calls: %d ns each\n", (now()-begin)/int64(n))
}
