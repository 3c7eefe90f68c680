// Variables of a program in Go, whose values the test knows.
package main

import "os"

type conn struct {
	port uint16
	load float64
}

type request struct {
	path string
	conn *conn
	own  conn
	last bool
}

var total = 100

func half(x int) int {
	h := x / 2
	return h + 1
}

//go:noinline
func handle(r *request, name string, n int) int {
	sum := 0
	for i := range n {
		sum += half(i) + int(r.own.port)
		total += sum
	}
	return sum
}

func main() {
	c := &conn{443, 1.5}
	r := &request{"/index", c, conn{80, 2.5}, true}
	os.Exit(handle(r, "first", 3) - handle(r, "first", 3))
}
