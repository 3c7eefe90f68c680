package providertest

import "golang.org/x/sys/unix"

// tid returns the number of the thread that calls it.
func tid() int { return unix.Gettid() }
