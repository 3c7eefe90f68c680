package kernel

import (
	"testing"

	"github.com/cilium/ebpf/btf"
)

// TestMemberIn checks that members of unnamed structs and unions are found, and those
// of named ones are not.
func TestMemberIn(t *testing.T) {
	word := &btf.Int{Name: "long", Size: 8}
	at := func(name string, bytes uint32, typ btf.Type) btf.Member {
		return btf.Member{Name: name, Type: typ, Offset: btf.Bits(8 * bytes)}
	}
	members := []btf.Member{
		at("first", 0, word),
		at("named", 8, &btf.Struct{Size: 16, Members: []btf.Member{at("hidden", 0, word), at("last", 8, word)}}),
		at("", 24, &btf.Union{Size: 16, Members: []btf.Member{at("one", 0, word), at("", 0, &btf.Struct{Size: 16, Members: []btf.Member{at("other", 8, word)}})}}),
		at("last", 40, word),
	}
	for name, want := range map[string]int{"first": 0, "named": 8, "one": 24, "other": 32, "last": 40, "hidden": -1, "none": -1} {
		got := -1
		if offset, ok := memberIn(members, name); ok {
			got = int(offset)
		}
		if got != want {
			t.Errorf("%s is at byte %d, want %d", name, got, want)
		}
	}
}
