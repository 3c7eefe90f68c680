// Package clock has the time of records: that of programs in the kernel, CLOCK_MONOTONIC of the
// initial time namespace, and what it is by the wall clock.
package clock
