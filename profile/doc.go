// Package profile adds up events by the calls that led to them, and writes the sums as
// profiles: for pprof (https://github.com/google/pprof), and as folded stacks, a line for
// each, as scripts that draw flame graphs read them.
package profile
