package discover

import (
	"debug/elf"
	"errors"

	"github.com/go-usdt/usdt/internal/kernfunc"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/symbols"
)

var (
	errFloat   = errors.New("it is a floating-point number, whose register BTF does not tell")
	errByValue = errors.New("it is a structure, whose registers BTF does not tell")
	errAfter   = errors.New("it follows a structure, which takes registers that BTF does not tell")
	errOnStack = errors.New("it is on the stack, which is not read by BTF")
)

// dwarfRegisters are the numbers, in DWARF, of the registers with the first arguments of C's functions
// (System V ABI, AMD64 supplement, 3.2.3; Procedure Call Standard for the Arm 64-bit Architecture, 6.8).
// Register 0 has the result on both.
var dwarfRegisters = map[elf.Machine][]int{
	elf.EM_X86_64:  {5, 4, 1, 2, 8, 9},
	elf.EM_AARCH64: {0, 1, 2, 3, 4, 5, 6, 7},
}

// typesOf returns the types of an object's functions in its section .BTF, nil if it has none, or none that can
// be read.
func (t *Types) typesOf(path string, c *symbols.Code) *kernfunc.Types {
	if known, ok := t.btf[path]; ok {
		return known
	}
	var types *kernfunc.Types
	if b := c.BTF(); len(b) > 0 {
		types, _ = kernfunc.ReadTypes(b) // without them, arguments are numbered
	}
	t.btf[path] = types
	return types
}

// typedBy returns what BTF says of a function, nil if that is nothing.
func typedBy(types *kernfunc.Types, p *reader.Probe) *reader.Typed {
	registers := dwarfRegisters[p.Machine]
	if types == nil || registers == nil || p.Class != elf.ELFCLASS64 || p.Target.Convention != reader.CConvention || altered(p.Target.Symbols) {
		return nil
	}
	proto, err := types.Prototype(p.Target.Symbols)
	if err != nil {
		return nil
	}
	out := &reader.Typed{Known: true}
	var after error // why later arguments are in registers that are not known
	for i := range proto.Params {
		a := &proto.Params[i]
		v := variableOf(a)
		switch {
		case after != nil:
			v.Err = after
		case a.Float: // takes none of these registers
			v.Err = errFloat
		case a.Kind == kernfunc.Other:
			v.Err, after = errByValue, errAfter
		case len(registers) == 0:
			v.Err = errOnStack
		default:
			v.Register, registers = registers[0], registers[1:]
		}
		out.Arguments = append(out.Arguments, v)
		if v.Err != nil {
			continue
		}
		for _, m := range types.Behind(a) {
			member := variableOf(&m.Param)
			member.Name, member.Behind, member.Memory = a.Name+"."+m.Name, true, true
			member.Register, member.Offset = v.Register, m.Offset
			out.Arguments = append(out.Arguments, member)
		}
	}
	if a := proto.Result; a != nil && a.Kind != kernfunc.Other {
		v := variableOf(a)
		v.Register, v.Argument = 0, false
		out.Results = []reader.Variable{v}
	}
	return out
}

// variableOf returns an argument that is nowhere yet.
func variableOf(a *kernfunc.Param) reader.Variable {
	v := reader.Variable{Name: a.Name, Type: a.Type, Argument: true, Kind: reader.Uint, Size: a.Size, Named: a.Values, Register: -1}
	switch {
	case a.Kind == kernfunc.Text:
		v.Kind = reader.String
	case a.Kind == kernfunc.Bool:
		v.Kind = reader.Bool
	case a.Signed:
		v.Kind = reader.Int
	}
	return v
}
