// Package maplog knows what processes have mapped for execution, also when they have ended: the
// kernel reports each mapping to it, as it does to perf record (perf_event_open(2),
// PERF_RECORD_MMAP2).
//
// /proc says nothing of a process any more when that has ended. A [Log] reads nothing of /proc,
// costs the probes of processes nothing, and knows a file by its path and its build-id.
package maplog
