// Package btfgen describes C types and writes them as BTF
// (https://docs.kernel.org/bpf/btf.html). It supports the kinds of types that an
// object of package provider needs, and links no BTF reader, because every service
// that declares probes carries this code.
package btfgen
