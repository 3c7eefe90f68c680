package reader

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"

	"github.com/go-usdt/usdt/internal/cdecl"
)

// eventFormat writes what parseEventFormat reads.
func eventFormat(name string, members []btf.Member) string {
	text := "name: " + name + "\nformat:\n"
	for _, m := range members {
		size, _ := btf.Sizeof(m.Type)
		signed := 0
		if i, ok := btf.UnderlyingType(m.Type).(*btf.Int); ok && i.Encoding == btf.Signed {
			signed = 1
		}
		text += fmt.Sprintf("\tfield:%s;\toffset:%d;\tsize:%d;\tsigned:%d;\n", cdecl.Declare(m.Type, m.Name), m.Offset/8, size, signed)
	}
	return text
}

// TestEventFormat parses declarations of C, and refuses other text.
func TestEventFormat(t *testing.T) {
	for declaration, size := range map[string]int{
		"unsigned long long id": 8, "const char *path": 8, "_Bool done": 1, "double load": 8, "int codes[4]": 16,
		"unsigned short grid[2][3]": 12, "int (*rows)[4]": 8, "struct node *next": 8, "struct {...} inner": 24,
		"usdt_hex id": 8, "usdt_bytes raw": 20, "usdt_go_time at": 24, "usdt_duration_ns took": 8, "mine_t other": 4, "void *p": 8, "char *const fixed": 8,
	} {
		text := fmt.Sprintf("name: a\nformat:\n\tfield:%s;\toffset:8;\tsize:%d;\tsigned:0;\n", declaration, size)
		name, members, err := parseEventFormat(text)
		if err != nil || name != "a" || len(members) != 1 {
			t.Errorf("%s: got %q, %d members, %v", declaration, name, len(members), err)
			continue
		}
		if got := cdecl.Declare(members[0].Type, members[0].Name); got != declaration {
			t.Errorf("got %s, want %s", got, declaration)
		}
		if got, err := btf.Sizeof(members[0].Type); err != nil || got != size {
			t.Errorf("%s: got %d bytes, %v, want %d", declaration, got, err, size)
		}
	}
	for _, line := range []string{
		"", "field:int a;", "field:int a; offset:0; size:4; signed:x;", "field:int a; offset:-1; size:4; signed:1;", "int a; offset:0; size:4; signed:1;",
		"field:int a; offset:0; size:8; signed:1;", "field:int; offset:0; size:4; signed:1;", "field:int a[x]; offset:0; size:4; signed:1;",
		"field:a]; offset:0; size:4; signed:1;", "field:much too long a; offset:0; size:4; signed:1;", "field:int " + strings.Repeat("*", 99) + "a; offset:0; size:8; signed:0;",
		"field:int a; offset:0; size:4; signed:1; more;", "field:int a; offset:4294967295; size:4; signed:1;",
	} {
		if _, members, err := parseEventFormat("name: a\nformat:\n" + line + "\n"); err == nil {
			t.Errorf("%q is taken for %+v", line, members)
		}
	}
	for _, text := range []string{"", "name: a\n", "name: \nformat:\n"} {
		if name, _, err := parseEventFormat(text); err == nil {
			t.Errorf("%q is taken for the format of %q", text, name)
		}
	}
}

// FuzzEventFormat parses any text, and what it understood of it again.
func FuzzEventFormat(f *testing.F) {
	f.Add("name: a\nformat:\n\tfield:int (*rows)[4];\toffset:0;\tsize:8;\tsigned:0;\n\tfield:usdt_hex id;\toffset:8;\tsize:8;\tsigned:0;\n")
	f.Fuzz(func(t *testing.T, text string) {
		name, members, err := parseEventFormat(text)
		if err != nil {
			return
		}
		Fields(&btf.Struct{Members: members})
		want := eventFormat(name, members)
		name, members, err = parseEventFormat(want)
		if err != nil {
			t.Fatalf("%q, of %q: %v", want, text, err)
		}
		if got := eventFormat(name, members); got != want {
			t.Errorf("%q became %q", want, got)
		}
	})
}
