// Package nested finds the processes in which the kernel has left out returns. A thread may
// be in 64 calls at a time whose returns the kernel traces (kernel/events/uprobes.c:
// prepare_uretprobe, MAX_URETPROBE_DEPTH). It leaves out the returns of deeper calls, runs no
// program for them and counts nothing, but says so in its log, ten times in five seconds at most.
package nested
