// Package watch finds out who watches probe sites: which processes hold BPF links
// or perf events there, and which sites tracefs has in uprobe_events.
//
// What the kernel tells takes CAP_SYS_ADMIN, and CAP_SYS_PTRACE for the holders.
// See https://docs.kernel.org/trace/uprobetracer.html.
package watch
