// Package collection loads BPF programs that were compiled from C, with libbpf's
// usdt.bpf.h or for functions of files and of the kernel, and attaches them to what their sections name.
//
// [Load] takes an object file and does all of it. [LoadSpec], [New] and
// [Collection.Attach] are its three steps, between which variables are set and maps
// resized, and [Collection.AttachProgram] attaches to probes that were not known
// when the program was compiled. Selectors, targets and plans come from
// package attach.
package collection
