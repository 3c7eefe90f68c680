//go:build !linux

package sys

// UprobeOptimization returns NoOptimization: this kernel has no uprobes.
func UprobeOptimization() Optimization { return NoOptimization }
