// Package btfgen describes C types and writes them as BTF
// (https://docs.kernel.org/bpf/btf.html). It knows the kinds of types that an
// object of package provider needs, and links nothing that reads BTF: a service
// that declares probes carries this code.
package btfgen
