//go:build race

package ring_test

// raced reports that the race detector is on: the writer is Go then, which the runtime
// preempts in the middle of a record.
const raced = true
