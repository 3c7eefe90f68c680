package bpf

import (
	"os"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach/collection"
)

// ReadSpec reads a BPF object, as package collection does.
func ReadSpec(t testing.TB, object string) *ebpf.CollectionSpec {
	t.Helper()
	f, err := os.Open(object)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	spec, err := collection.LoadSpec(f)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}
