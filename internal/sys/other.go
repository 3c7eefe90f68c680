//go:build !linux

package sys

// Privileged reports false on systems other than Linux.
func Privileged() bool { return false }

// UprobeOptimization returns NoOptimization: this kernel has no uprobes.
func UprobeOptimization() Optimization { return NoOptimization }
