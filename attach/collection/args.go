package collection

import (
	"errors"
	"fmt"

	"github.com/go-usdt/usdt/attach/internal/libbpf"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// ArgError says why a program from a [Collection] cannot read an argument. For
// that argument bpf_usdt_arg returns -EINVAL; it reads the others as usual.
type ArgError struct {
	Index int    // as in bpf_usdt_arg(ctx, index, …)
	Text  string // the argument as the note has it
	Err   error
}

func (e *ArgError) Error() string { return fmt.Sprintf("argument %d (%s): %v", e.Index, e.Text, e.Err) }
func (e *ArgError) Unwrap() error { return e.Err }

// specBinder turns sites into specs for one program.
type specBinder struct {
	table   *specTable // may be nil
	objects operand.Objects
	specs   map[argsKey]boundSpec
}

type boundSpec struct {
	spec string
	errs []error
}

// argsKey identifies the arguments and the cookie of sites.
type argsKey struct {
	path, args string
	cookie     uint64
}

// bind returns the spec of a site, and notes there which arguments it lacks.
// Functions have none.
func (b *specBinder) bind(s *site.Site, cookie uint64) (string, error) {
	p := &s.Probe
	if b.table == nil || p.Kind != reader.USDT {
		return "", nil
	}
	key := argsKey{path: s.Path, args: p.Args, cookie: cookie}
	if known, ok := b.specs[key]; ok {
		s.ArgErrs = known.errs
		return known.spec, nil
	}
	regs, err := operand.HostRegisters(p.Machine, p.Class)
	if err != nil {
		return "", err
	}
	obj, err := b.objects.Open(s.Path)
	if err != nil {
		return "", err
	}
	arguments := p.Arguments()
	args := make([]libbpf.Arg, len(arguments))
	fail := func(i int, err error) {
		s.ArgErrs = append(s.ArgErrs, &ArgError{i, arguments[i].Text, err})
	}
	ofSite := false
	for i, a := range arguments {
		ofSite = ofSite || a.Symbol != "" || a.Base == "" && a.Kind == notes.Mem
		op, err := operand.Compile(a, regs, p.Machine, p.Class, obj, p.Location+p.Delta, int64(s.Offset-p.Offset))
		if err == nil && op.Kind == operand.Address {
			op = storedAddress(op, obj, p.Location+p.Delta, int64(s.Offset-p.Offset))
		}
		if err == nil {
			args[i], err = headerArg(op, p.Location+p.Delta+s.Offset-p.Offset, regs)
		}
		if err != nil {
			fail(i, err)
		}
		args[i].Size, args[i].Signed = a.Size, a.Signed
	}
	bound := boundSpec{spec: string(b.table.layout.Encode(args, cookie, fail)), errs: s.ArgErrs}
	if !ofSite {
		if b.specs == nil {
			b.specs = map[argsKey]boundSpec{}
		}
		b.specs[key] = bound
	}
	return bound.spec, nil
}

// storedAddress turns an address near a site into an operand that usdt.bpf.h can
// express: the number, if the object is never moved; otherwise the memory that
// holds the address, a slot of the global offset table, if there is one.
func storedAddress(op operand.Operand, obj *operand.Object, site uint64, ipDelta int64) operand.Operand {
	if op.HasIndex {
		return op
	}
	addr := site + uint64(op.Disp+ipDelta)
	if !obj.Relocatable() {
		return operand.Operand{Kind: operand.Const, Size: op.Size, Value: addr}
	}
	if slot, ok := obj.Symbols.OwnSlot(addr); ok {
		op.Kind, op.Disp = operand.Memory, int64(slot-site)-ipDelta
	}
	return op
}

// headerArg expresses an operand in the terms of usdt.bpf.h. ip is the address
// of the site in an object whose addresses are fixed.
func headerArg(op operand.Operand, ip uint64, regs *operand.Registers) (libbpf.Arg, error) {
	switch op.Kind {
	case operand.Const:
		return libbpf.Arg{Kind: libbpf.Const, Value: op.Value}, nil
	case operand.Register:
		switch {
		case op.HasPair:
			return libbpf.Arg{}, errors.New("usdt.bpf.h cannot read a value in two registers")
		case op.Base.Zero:
			return libbpf.Arg{Kind: libbpf.Const}, nil
		}
		// The header reads 8 bytes and keeps the lowest, so it can read a
		// register's upper part at any offset.
		return libbpf.Arg{Kind: libbpf.Register, Reg: int(op.Base.Off) + int(op.Base.Shift/8)}, nil
	case operand.Memory:
		return headerMemory(op, ip, regs)
	}
	return libbpf.Arg{}, errors.New("the value is an address relative to the site: usdt.bpf.h can read memory there, but cannot compute the address")
}

func headerMemory(op operand.Operand, ip uint64, regs *operand.Registers) (libbpf.Arg, error) {
	if !op.HasBase {
		// The memory is at a fixed address, as is the site.
		op.Base, op.HasBase = operand.Location{Off: regs.IP, Size: 8}, true
		op.Disp -= int64(ip)
	}
	arg := libbpf.Arg{Kind: libbpf.Memory, Value: uint64(op.Disp), Reg: int(op.Base.Off)}
	if op.Wrap32 {
		arg.Value = uint64(int64(int32(op.Disp)))
	}
	whole := func(l operand.Location) bool {
		return !l.Zero && l.Shift == 0 && (l.Size == 8 || op.Wrap32 && l.Size == 4)
	}
	if !whole(op.Base) || op.HasIndex && !whole(op.Index) {
		return arg, errors.New("usdt.bpf.h cannot read an address made of parts of registers")
	}
	if op.HasIndex {
		if op.Extend != 0 {
			return arg, errors.New("usdt.bpf.h cannot extend an index from 32 bits")
		}
		arg.Kind, arg.Index, arg.Scale = libbpf.Indexed, int(op.Index.Off), int(op.Scale)
	}
	return arg, nil
}
