package bind

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/internal/spelling"
	"github.com/go-usdt/usdt/reader"
)

// leavesKernel reports whether nobody asks for arguments at a function of the kernel, so that none are
// looked at: a thousand that are counted are bound like one.
func (b *Binder) leavesKernel(p *reader.Probe) bool {
	if !p.Kind.InKernel() || p.Kind.HasFields() || b.Aggregate == nil || b.Aggregate.Pairs != nil || b.Aggregate.Whole() || b.Recorded || b.Keep {
		return false
	}
	if len(b.Args.Names) > 0 || len(b.Args.Types) > 0 || len(b.Args.Casts) > 0 || b.Args.Result || len(b.Strings) > 0 || len(b.Follow) > 0 {
		return false
	}
	return !slices.ContainsFunc(b.namesUsed(), func(name string) bool {
		return name != "" && name != "probe" && !IsFunctionKey(name, p)
	})
}

// kernelKey returns a string that differs between functions and tracepoints of the kernel whose arguments
// differ in more than their places.
func kernelKey(p *reader.Probe) string {
	k := p.Kernel.Types()
	if len(p.Kernel.Fields) > 0 || k.Err != nil {
		return fmt.Sprint(p.Kernel.Fields, k.Err)
	}
	key := append([]byte(p.Provider), 0) // whose numbers of types they are
	for _, name := range k.Gone {
		key = append(append(key, name...), 0)
	}
	for i := range k.Params {
		a := &k.Params[i]
		key = append(append(key, 1), a.Name...)
		key = append(append(key, 0), a.Type...)
		key = binary.NativeEndian.AppendUint32(append(key, 0), a.TypeID)
		if a.Err != nil {
			key = append(key, a.Err.Error()...)
		}
	}
	return string(key)
}

// bindKernel reads the arguments of a function of the kernel, or its result. Events hold all, or those
// of Options.Args.
func (b *Binder) bindKernel(sc *Schema, s *site.Site, regs *operand.Registers) {
	p := &s.Probe
	known, args, types := b.known(p), p.Arguments(), p.Kernel.Types()
	if known == nil {
		for _, name := range b.Args.Names {
			sc.Fields = append(sc.Fields, shape.Field{Name: name, Err: lacksKernel(p, name)})
		}
		return
	}
	sc.Fields, sc.Places = make([]shape.Field, 0, len(args)), make([]string, 0, len(args))
	sc.Sig.Operands = make([]operand.Operand, 0, len(args))
	for i := range args {
		sc.Fields = append(sc.Fields, shape.Field{Name: shape.ArgName(i), Kind: kindOf(args[i])})
	}
	sc.bindKnown(known, args)
	for i := range args {
		if err := types.Params[i].Err; err != nil {
			args[i].Err = err
		}
		b.Args.Retype(&args[i], sc.Fields[i].Name)
	}
	b.bindArguments(sc, s, regs, args, known)
	for i := range sc.Fields {
		sc.Places = append(sc.Places, sc.Fields[i].Name)
	}
	b.bindMembers(sc, p, func(i int) (operand.Operand, error) {
		return operand.Compile(args[i], regs, p.Machine, p.Class, nil, 0, 0)
	})
	names := b.Args.Names
	switch result := b.Args.Result; {
	case result && p.Kind.IsReturn() && p.Kind.HasArguments(): // beside the arguments, which it also has
		names = append(slices.Clone(names), retval)
	case b.Args.All, result && !p.Kind.HasArguments():
		return
	}
	all := slices.Concat(sc.Fields, sc.Unshown)
	sc.Fields, sc.Unshown = nil, nil
	for _, name := range names {
		if b.Args.OfCast(name) {
			continue
		}
		f := shape.Field{Name: name, Err: lacksKernel(p, name)}
		i := slices.IndexFunc(all, func(f shape.Field) bool { return f.Name == name })
		if n, ok := shape.ArgNumber(name); ok && i < 0 && n < len(args) {
			i = n
		}
		if i >= 0 {
			f = all[i]
		}
		sc.Fields = append(sc.Fields, f)
	}
	followed := b.membersFollowed(p)
	for i := range all {
		switch {
		case slices.ContainsFunc(sc.Fields, func(f shape.Field) bool { return f.Name == all[i].Name }):
		case slices.Contains(followed, all[i].Name):
			sc.Fields = append(sc.Fields, all[i])
		default:
			sc.Unshown = append(sc.Unshown, all[i])
		}
	}
}

// namesString reports whether Options.Strings call an argument of a function of the kernel by its
// name.
func (b *Binder) namesString(p *reader.Probe, name string) bool {
	return p.Kind.InKernel() && slices.ContainsFunc(b.Strings, func(t StringArg) bool { return t.arg == name })
}

// errGone is why a return has no arguments.
var errGone = errors.New("when a function of the kernel returns, its arguments are gone: they are at its entry (kprobe:), and a trampoline keeps them (fexit:)")

// lacksKernel returns why a function of the kernel has no such argument.
func lacksKernel(p *reader.Probe, name string) error {
	types := p.Kernel.Types()
	var names []string
	for i := range types.Params {
		names = append(names, types.Params[i].Name)
	}
	_, numbered := shape.ArgNumber(name)
	switch {
	case types.Err != nil:
		return types.Err
	case !p.Kind.HasArguments() && (numbered || slices.Contains(types.Gone, name)):
		return errGone
	case p.Kind.IsReturn() && name == retval:
		return errors.New("it returns nothing")
	case !p.Kind.HasFields() && name == retval:
		return errors.New("it has no result at its entry: trace kretprobe:FUNC or fexit:FUNC")
	}
	return fmt.Errorf("it has no such argument%s", spelling.Nearly(name, names))
}
