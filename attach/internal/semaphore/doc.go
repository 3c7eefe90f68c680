// Package semaphore keeps count where the kernel miscounts: in processes that map,
// while a tracer is attached, a file whose segments share pages, and in libraries that
// a process maps twice.
//
// The kernel raises the first writable copy of a semaphore that a process maps, which
// may be the one that RELRO makes read-only, and once for all copies of a site. At the
// end it lowers the first copy that is writable then, once for each breakpoint. So what
// that copy must be is the number of breakpoints at its sites, and every other copy must
// not be zero. This package makes it so before the program reads it, and the kernel
// lowers it to zero however the tracer ends. A semaphore that is too low would have the
// kernel leave breakpoints behind, and leak the uprobe (kernel/events/uprobes.c:
// update_ref_ctr).
//
// A program in the kernel cannot write to a process where the kernel is locked down. So
// one that runs before the traced program's own code calls this process, and waits for
// it: see [Keeper].
package semaphore
