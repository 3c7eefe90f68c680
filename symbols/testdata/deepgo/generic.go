//go:build go1.18
// +build go1.18

package main

func call(n int) { generic[int](n, "a") }

//go:noinline
func generic[T, U any](n int, u U) T2[T] {
	outer(n)
	return T2[T]{}
}

// T2 is a generic type.
type T2[T any] struct{ t T }
