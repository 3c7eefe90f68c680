// The program has functions of Go to trace. For each line that it reads, it
// calls them and answers with what they returned.
package main

import (
	"bufio"
	"fmt"
	"os"
)

//go:noinline
func work(a int, path string, b, c, d, e, f, g, h int) int {
	return a + len(path) + b + c + d + e + f + g + h + grow(100)
}

// grow needs more stack than there is at first.
//
//go:noinline
func grow(n int) int {
	var room [1024]byte
	room[n] = 1
	if n == 0 {
		return int(room[0]) - 1
	}
	return grow(n-1) + int(room[n]) - 1
}

func main() {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		done := make(chan int)
		go func() { done <- work(1, in.Text(), -2, 3, 4, 5, 6, 7, 8) }()
		fmt.Println(<-done)
	}
}
