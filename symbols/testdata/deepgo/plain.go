//go:build !go1.18
// +build !go1.18

package main

func call(n int) { outer(n) }
