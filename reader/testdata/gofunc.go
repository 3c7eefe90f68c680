// A Go program with a function to find. Compiled by the tests.
package main

import "os"

//go:noinline
func work(n int) int { return n*7 + len(os.Args) }

func main() { println(work(len(os.Args))) }
