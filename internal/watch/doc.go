// Package watch finds the watchers of probe sites: processes that hold BPF links or
// perf events there, and sites that tracefs has in uprobe_events.
//
// Asking the kernel requires CAP_SYS_ADMIN, and finding the holders CAP_SYS_PTRACE.
// See https://docs.kernel.org/trace/uprobetracer.html.
package watch
