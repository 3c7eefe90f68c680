// Package sys holds what the module asks of the Linux kernel by itself:
// sealed memory files, address space that outlives its contents, and the
// question how the kernel traces a site.
package sys
