//go:build linux

package provider_test

import (
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/cilium/ebpf/btf"

	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/provider"
)

// TestGoWords checks that times and addresses are described as such wherever they
// lie. It fails with a Go version whose words for them differ from FORMAT.md's.
func TestGoWords(t *testing.T) {
	type record struct {
		At    time.Time
		Peer  netip.Addr
		Times []time.Time
		Next  *netip.Addr
		To    netip.AddrPort
	}
	typ, err := provider.DescribeRecord(reflect.TypeFor[record]())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"At": notes.GoTimeType, "Peer": notes.GoAddrType, "Times": notes.GoTimeType, "Next": notes.GoAddrType}
	for _, m := range typ.Members {
		if to, ok := m.Type.(*btf.Struct); ok && m.Name == "To" && to.Members[0].Type.TypeName() != notes.GoAddrType {
			t.Errorf("the address of an AddrPort is %v", to.Members[0].Type)
		}
		if want[m.Name] == "" {
			continue
		}
		described := m.Type
		if p, ok := described.(*btf.Pointer); ok {
			described = p.Target
		}
		size, err := btf.Sizeof(described)
		if described.TypeName() != want[m.Name] || size != notes.GoWords || err != nil {
			t.Errorf("%s is %v of %d bytes (%v), want %s", m.Name, described, size, err, want[m.Name])
		}
	}
}
