//go:build race

package provider_test

// The race detector sees nothing of assembly code. The Go code that takes its place can be
// preempted while it holds a shard.
func init() { raced = true }
