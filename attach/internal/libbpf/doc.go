// Package libbpf knows what libbpf's usdt.bpf.h puts into a BPF object: symbols
// that only libbpf's own loader understands, and a map of argument specs whose
// layout differs between versions of libbpf.
//
// [Patch] turns such an object into one that any loader accepts. [LayoutOf] reads
// the layout of a spec from the object's type information, and [Layout.Encode]
// writes specs in it.
//
// See https://docs.kernel.org/bpf/btf.html and, for the contents of specs,
// src/usdt.bpf.h of https://github.com/libbpf/libbpf.
package libbpf
