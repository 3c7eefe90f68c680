//go:build cgo

// A Go function behind C's in the file, compiled by the tests.
package main

// static int add(int a, int b) { return a + b; }
import "C"

import "os"

//go:noinline
func work(a, b int) int { return int(C.add(C.int(a), C.int(b))) }

func main() { os.Exit(work(len(os.Args), -len(os.Args))) }
