//go:build !linux

package sys

// UprobeOptimization says that this kernel has no uprobes.
func UprobeOptimization() Optimization { return NoOptimization }
