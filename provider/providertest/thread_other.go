//go:build !linux

package providertest

// tid is for systems where threads have numbers.
func tid() int { return 0 }
