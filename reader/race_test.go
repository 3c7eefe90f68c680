//go:build race

package reader_test

// slowdown is how much longer the race detector may let a test take.
const slowdown = 20
