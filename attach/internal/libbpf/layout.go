package libbpf

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf/btf"
)

// SpecMap is the name of the map of specs: an array, indexed by the cookie of a
// site.
const SpecMap = "__bpf_usdt_specs"

// AddressMap is the name of the map that replaces cookies where the kernel has
// none.
const AddressMap = "__bpf_usdt_ip_to_spec_id"

// FunctionPrefix is what the names of the header's functions begin with.
const FunctionPrefix = "bpf_usdt_"

// ArgFunction is the name of the function that reads an argument.
const ArgFunction = "bpf_usdt_arg"

// Limits far above the 12 arguments of 24 bytes that headers know.
const (
	maxArgs = 256
	maxSize = 64 << 10
)

// Layout is how one object's usdt.bpf.h lays out the spec of a site.
type Layout struct {
	Size int // bytes of a spec
	Args int // arguments that a spec has room for

	argsOffset, argSize int // bytes
	cookie, count       bits
	value, kind, reg    bits
	signed, shift       bits
	index, scale        bits // of size 0 where the header has none
	kinds               map[Kind]uint64
	unknown             uint64 // a kind that the header does not know
}

// bits is a place in a structure.
type bits struct{ offset, size int }

// enumerators are what headers call the kinds of arguments.
var enumerators = map[string]Kind{
	"BPF_USDT_ARG_CONST":     Const,
	"BPF_USDT_ARG_REG":       Register,
	"BPF_USDT_ARG_REG_DEREF": Memory,
	"BPF_USDT_ARG_SIB":       Indexed,
}

// LayoutOf reads the layout from the type of the values of [SpecMap].
func LayoutOf(value btf.Type) (*Layout, error) {
	spec, err := structOf(value)
	if err != nil {
		return nil, err
	}
	l := &Layout{Size: int(spec.Size), kinds: map[Kind]uint64{}}
	args := member(spec, "args")
	if args == nil {
		return nil, errors.New("type of specs has no member args")
	}
	array, ok := btf.UnderlyingType(args.Type).(*btf.Array)
	if !ok {
		return nil, errors.New("args of specs is not an array")
	}
	arg, err := structOf(array.Type)
	if err != nil {
		return nil, err
	}
	if array.Nelems == 0 || array.Nelems > maxArgs {
		return nil, fmt.Errorf("specs have room for %d arguments, not for 1 to %d", array.Nelems, maxArgs)
	}
	l.Args, l.argsOffset, l.argSize = int(array.Nelems), int(args.Offset.Bytes()), int(arg.Size)
	if l.Size > maxSize {
		return nil, fmt.Errorf("specs of %d bytes", l.Size)
	}
	if uint64(l.argsOffset)+uint64(l.Args)*uint64(arg.Size) > uint64(spec.Size) {
		return nil, errors.New("args lie outside of specs")
	}
	for _, m := range []struct {
		in       *btf.Struct
		name     string
		to       *bits
		optional bool
	}{
		{spec, "usdt_cookie", &l.cookie, false},
		{spec, "arg_cnt", &l.count, false},
		{arg, "val_off", &l.value, false},
		{arg, "arg_type", &l.kind, false},
		{arg, "reg_off", &l.reg, false},
		{arg, "arg_signed", &l.signed, false},
		{arg, "arg_bitshift", &l.shift, false},
		{arg, "idx_reg_off", &l.index, true},
		{arg, "scale_bitshift", &l.scale, true},
	} {
		if *m.to, err = memberBits(m.in, m.name, m.optional); err != nil {
			return nil, err
		}
	}
	return l, l.readKinds(member(arg, "arg_type").Type)
}

// readKinds finds the values of the kinds of arguments.
func (l *Layout) readKinds(t btf.Type) error {
	enum, ok := btf.UnderlyingType(t).(*btf.Enum)
	if !ok {
		return errors.New("arg_type is not an enumeration")
	}
	known := map[uint64]bool{}
	for _, v := range enum.Values {
		known[v.Value] = true
		if k, ok := enumerators[v.Name]; ok {
			l.kinds[k] = v.Value
		}
	}
	l.unknown = 1<<l.kind.size - 1
	for known[l.unknown] {
		l.unknown-- // there are fewer enumerators than values
	}
	return nil
}

func structOf(t btf.Type) (*btf.Struct, error) {
	if t == nil {
		return nil, errors.New("specs have no type: compile with -g")
	}
	s, ok := btf.UnderlyingType(t).(*btf.Struct)
	if !ok {
		return nil, fmt.Errorf("%v is not a structure", t)
	}
	return s, nil
}

func member(s *btf.Struct, name string) *btf.Member {
	for i := range s.Members {
		if s.Members[i].Name == name {
			return &s.Members[i]
		}
	}
	return nil
}

// memberBits finds a member that is an integer.
func memberBits(s *btf.Struct, name string, optional bool) (bits, error) {
	m := member(s, name)
	if m == nil && optional {
		return bits{}, nil
	}
	if m == nil {
		return bits{}, fmt.Errorf("type %s has no member %s", s.Name, name)
	}
	b := bits{int(m.Offset), int(m.BitfieldSize)}
	if b.size == 0 {
		size, err := btf.Sizeof(m.Type)
		if err != nil {
			return bits{}, fmt.Errorf("size of member %s: %w", name, err)
		}
		b.size = 8 * size
	}
	if b.size <= 0 || b.size > 64 || uint64(m.Offset)+uint64(b.size) > 8*uint64(s.Size) {
		return bits{}, fmt.Errorf("member %s is not an integer within type %s", name, s.Name)
	}
	return b, nil
}
