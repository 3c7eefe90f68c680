//go:build !race

package reader_test

const slowdown = 1
