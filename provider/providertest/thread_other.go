//go:build !linux

package providertest

// tid returns 0: threads have no numbers here.
func tid() int { return 0 }
