package libbpf

import (
	"errors"
	"fmt"
)

// Kind says where an argument's value is.
type Kind uint8

const (
	Unreadable Kind = iota // bpf_usdt_arg returns -EINVAL
	Const                  // Value
	Register               // the register at Reg
	Memory                 // memory at the register at Reg + Value
	Indexed                // the same + the register at Index << Scale
)

// Arg is an argument of a site.
type Arg struct {
	Kind       Kind
	Value      uint64
	Reg, Index int // byte offsets in struct pt_regs
	Scale      int // as a shift
	Size       int // bytes: 1, 2, 4 or 8
	Signed     bool
}

// ErrNoIndexed is the error for an argument of kind Indexed where the header
// knows none.
var ErrNoIndexed = errors.New("the object's usdt.bpf.h does not know indexed memory operands, which libbpf 1.7 introduced")

// Encode returns a spec. For an argument that the header cannot express, Encode
// calls fail, makes the argument Unreadable and encodes the others.
func (l *Layout) Encode(args []Arg, cookie uint64, fail func(arg int, err error)) []byte {
	spec := make([]byte, l.Size)
	put(spec, l.cookie, cookie)
	put(spec, l.count, uint64(min(len(args), l.Args)))
	for i, a := range args {
		if i >= l.Args {
			fail(i, fmt.Errorf("the object's usdt.bpf.h knows %d arguments", l.Args))
			continue
		}
		b := spec[l.argsOffset+i*l.argSize:][:l.argSize]
		if err := l.encode(b, &a); err != nil {
			clear(b)
			put(b, l.kind, l.unknown)
			fail(i, err)
		}
	}
	return spec
}

func (l *Layout) encode(b []byte, a *Arg) error {
	kind, ok := l.kinds[a.Kind]
	switch {
	case a.Kind == Unreadable:
		put(b, l.kind, l.unknown)
		return nil
	case a.Kind == Indexed && (!ok || l.index.size == 0 || l.scale.size == 0):
		return ErrNoIndexed
	case !ok:
		return fmt.Errorf("the object's usdt.bpf.h does not know operands of kind %d", a.Kind)
	}
	signed := uint64(0)
	if a.Signed {
		signed = 1
	}
	for _, f := range []struct {
		at    bits
		value int
	}{{l.reg, a.Reg}, {l.index, a.Index}, {l.scale, a.Scale}} {
		if f.value < 0 || f.at.size < 63 && f.value >= 1<<f.at.size {
			return fmt.Errorf("%d does not fit the %d bits that the object's usdt.bpf.h has for it", f.value, f.at.size)
		}
		put(b, f.at, uint64(f.value))
	}
	put(b, l.kind, kind)
	put(b, l.value, a.Value)
	put(b, l.signed, signed)
	put(b, l.shift, uint64(64-8*a.Size))
	return nil
}

// put writes the low bits of v, as a little-endian machine lays them out.
func put(b []byte, at bits, v uint64) {
	for i := range at.size {
		bit := at.offset + i
		b[bit/8] = b[bit/8]&^(1<<(bit%8)) | byte(v>>i&1)<<(bit%8)
	}
}
