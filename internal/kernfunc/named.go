package kernfunc

import (
	"fmt"
	"strings"

	"github.com/go-usdt/usdt/reader"
)

// named has the running kernel's types, and no functions.
var named = &Table{types: &typeFiles{dir: "/sys/kernel/btf"}}

// Named returns what a path leads to from a pointer whose type has a name in the kernel itself, as "struct sock *"
// or "sk_buff *".
func (t *Table) Named(param *reader.KernelParam, path string) (*Member, error) {
	all, err := t.types.of(Kernel)
	if err != nil {
		return nil, err
	}
	typ := strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(param.Type, "const "), "*"))
	pointer := *param
	if pointer.TypeID = all.named(typ); pointer.TypeID == 0 {
		return nil, fmt.Errorf("%s is a %s, of which the kernel's types do not say what is in it: --args %[1]s:'struct NAME*' does", param.Name, param.Type)
	}
	return t.Member(Kernel, &pointer, path)
}

// named returns the number of a structure or union, 0 if there is none. Its kind may precede the name.
func (t *types) named(name string) uint32 {
	kind, rest, ok := strings.Cut(name, " ")
	if ok && (kind == "struct" || kind == "union") {
		name = strings.TrimSpace(rest)
	}
	for i, at := range t.offsets {
		typ := t.at(at)
		if (typ.kind == kindStruct && kind != "union" || typ.kind == kindUnion && kind != "struct") && t.string(typ.name) == name {
			return t.first + uint32(i)
		}
	}
	return 0
}
