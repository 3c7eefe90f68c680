// Package libbpf knows what libbpf's usdt.bpf.h makes of a BPF object: symbols
// that only libbpf's own loader understands, and a map of argument specs whose
// layout is libbpf's and differs between its versions.
//
// [Patch] makes such an object one that any loader accepts. [LayoutOf] reads
// the layout of a spec from the object's type information, and [Layout.Encode]
// writes specs in it.
//
// See https://docs.kernel.org/bpf/btf.html and, for what is expected of the
// specs, src/usdt.bpf.h of https://github.com/libbpf/libbpf.
package libbpf
