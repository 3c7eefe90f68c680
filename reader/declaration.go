package reader

import (
	"fmt"

	"github.com/cilium/ebpf/btf"
)

// maxDeclaration is the largest size in bytes of the declaration of one argument
// struct with the structs in it written out. Types share names and each other, so
// that the declaration of a small file's type could exceed any memory. The
// declarations of all probes together are limited by the budget for reading the file.
const maxDeclaration = 1 << 20

// declarations measures types. A type that is being measured counts as too long,
// because it contains itself.
type declarations struct {
	sizes   map[btf.Type]uint64
	targets []btf.Type // targets of pointers, which are written out on their own
	spend   func(cost uint64) error
	err     error // of spend
}

// size returns at least the number of bytes that the declaration of t takes with the
// structs in it written out, up to maxDeclaration.
func (d *declarations) size(t btf.Type) uint64 {
	if n, ok := d.sizes[t]; ok {
		return n
	}
	if d.err == nil {
		d.err = d.spend(costType)
	}
	if d.err != nil || len(d.sizes) > maxReach {
		return maxDeclaration + 1
	}
	const each = 32 // punctuation, indentation, padding
	d.sizes[t] = maxDeclaration + 1
	n := uint64(each)
	if t != nil {
		n += uint64(len(t.TypeName()))
	}
	switch t := t.(type) {
	case *btf.Struct:
		n += d.members(t.Members)
	case *btf.Union:
		n += d.members(t.Members)
	case *btf.Array:
		n += d.size(t.Type)
	case *btf.Pointer:
		n += named(t.Target)
		d.targets = append(d.targets, t.Target)
	case *btf.Typedef:
		n += d.size(t.Type)
	case *btf.Const:
		n += d.size(t.Type)
	case *btf.Volatile:
		n += d.size(t.Type)
	case *btf.Restrict:
		n += d.size(t.Type)
	case *btf.TypeTag:
		n += d.size(t.Type)
	}
	n = min(n, maxDeclaration+1)
	d.sizes[t] = n
	return n
}

func (d *declarations) members(members []btf.Member) (n uint64) {
	for _, m := range members {
		if n += uint64(len(m.Name)) + d.size(m.Type); n > maxDeclaration {
			break
		}
	}
	return n
}

// named returns the bytes that t takes behind a pointer, where it is not written out.
func named(t btf.Type) uint64 {
	n := uint64(0)
	for range 16 { // package cdecl leaves out more
		if t == nil {
			break
		}
		n += uint64(len(t.TypeName()))
		switch u := t.(type) {
		case *btf.Pointer:
			t = u.Target
		case *btf.Array:
			t = u.Type
		case *btf.Const:
			t = u.Type
		case *btf.Volatile:
			t = u.Type
		case *btf.Restrict:
			t = u.Type
		case *btf.FuncProto:
			t = u.Return
		default:
			return n
		}
	}
	return n
}

// declaration returns the size of st's declaration, or an error if the declaration,
// or that of what it points to, is too large to be written. Each type costs.
func declaration(st *btf.Struct, spend func(cost uint64) error) (size uint64, err error) {
	d := declarations{sizes: map[btf.Type]uint64{}, targets: []btf.Type{st}, spend: spend}
	for len(d.targets) > 0 {
		last := len(d.targets) - 1
		t := d.targets[last]
		d.targets = d.targets[:last]
		long := d.size(t) > maxDeclaration
		if d.err != nil {
			return 0, d.err
		}
		if long {
			return 0, fmt.Errorf("the declaration of its arguments is longer than %d KiB or of more than %d types", maxDeclaration>>10, maxReach)
		}
	}
	return d.sizes[st], spend(costDeclared * d.sizes[st])
}
