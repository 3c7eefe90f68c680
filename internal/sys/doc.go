// Package sys makes the module's own requests to the Linux kernel: sealed memory
// files, address space that outlives its contents, and the question how the kernel
// traces a site.
package sys
