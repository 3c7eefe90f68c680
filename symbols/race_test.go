//go:build race

package symbols_test

// slowdown is the factor by which the race detector may slow a test.
const slowdown = 20
