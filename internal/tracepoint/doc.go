// Package tracepoint knows the kernel's tracepoints: which there are, and the fields of their records, as
// tracefs describes them (Documentation/trace/events.rst).
package tracepoint
