// Package tally computes in Go what the programs of package codegen compute in the
// kernel: whether an event passes a condition, to which group it belongs, and how
// long it is from a start to its end. It is for events that arrive as records. Keys
// and values of groups have the same bytes as in the kernel, so that one decoder
// serves both, and groups of both can be added up.
package tally
