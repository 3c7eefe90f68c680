//go:build !linux

package sys

// Privileged reports false on systems other than Linux.
func Privileged() bool { return false }
