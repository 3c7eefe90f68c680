//go:build !race

package ring_test

const raced = false
