//go:build !race

package symbols_test

const slowdown = 1
