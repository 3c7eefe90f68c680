// Package kernfunc knows the functions of the running kernel: which of them can be traced,
// where they are, and which arguments they have.
//
// It joins three lists by address: the symbols of /proc/kallsyms, what ftrace can patch
// (available_filter_functions), and the types of BTF (https://docs.kernel.org/bpf/btf.html), of
// the kernel and of its modules.
package kernfunc
