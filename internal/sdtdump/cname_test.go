package sdtdump

import (
	"bytes"
	"maps"
	"os/exec"
	"slices"
	"testing"

	"github.com/cilium/ebpf/btf"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/reader"
)

// TestCNames compiles structs whose members have any names, as objects that no Go provider
// wrote may have them, in C and in C++. Probes whose names are equal in C have structs of
// their own.
func TestCNames(t *testing.T) {
	needs.Tools(t, "gcc", "g++")
	var members []btf.Member
	for i, name := range slices.Concat(slices.Sorted(maps.Keys(cKeywords)), []string{
		"__asm__", "__int128", "__pad0", "_Bool", "_Static_assert", "_Generic", "a.b", "a_b", "a-b", "", "1", "x__asm__", "int_", "ä",
	}) {
		members = append(members, btf.Member{Name: name, Type: &btf.Int{Size: 4}, Offset: btf.Bits(64 * i)})
	}
	var out bytes.Buffer
	c := newC(&out, &options{})
	for _, probe := range [][2]string{{"a.b", "c"}, {"a_b", "c"}, {"a", "b_c"}, {"", "Bool"}, {"_Static", "assert"}, {"not", "eq"}, {"", "_asm"}} {
		p := &reader.Probe{Type: &reader.Type{Struct: &btf.Struct{Members: members, Size: uint32(8 * len(members))}}}
		p.Provider, p.Name = probe[0], probe[1]
		for range 2 { // two sites
			if err := c.probe(p); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := c.flush(); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(out.Bytes(), []byte("\nstruct ")); n != 7 {
		t.Errorf("got %d structs for 7 probes", n)
	}
	for _, language := range [][]string{{"gcc", "-xc"}, {"gcc", "-std=gnu2x", "-xc"}, {"g++", "-std=gnu++20", "-xc++"}} {
		args := append(language[1:], "-Wall", "-Werror", "-fsyntax-only", "-")
		cmd := exec.Command(language[0], args...)
		cmd.Stdin = bytes.NewReader(out.Bytes())
		if errs, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%q: %v\n%s", language, err, errs)
		}
	}
}

// TestCNested writes a type of nested members without bytes, of which there are more than any
// file could hold.
func TestCNested(t *testing.T) {
	var inner btf.Type = &btf.Struct{}
	for range 6 {
		members := make([]btf.Member, 100)
		for i := range members {
			members[i] = btf.Member{Name: "m", Type: inner}
		}
		inner = &btf.Struct{Members: members}
	}
	outer := []btf.Member{{Name: "n", Type: &btf.Int{Size: 8}}, {Name: "none", Type: inner, Offset: 64}}
	var out bytes.Buffer
	cMembers(&out, outer, 8, "\t", 0)
	if want := "\tunsigned long long n;\n"; out.String() != want {
		t.Errorf("got %.200q, want %q", &out, want)
	}
}

// TestFetchArgNames checks that the kernel takes the names of an event's arguments.
func TestFetchArgNames(t *testing.T) {
	names := fetchArgNames{}
	for _, c := range [][2]string{{"a", "a"}, {"a", "a_1"}, {"common_pid", "xcommon_pid"}, {"__probe_ip", "x__probe_ip"}} {
		if got := names.unique(c[0]); got != c[1] {
			t.Errorf("%s: got %s, want %s", c[0], got, c[1])
		}
	}
}
