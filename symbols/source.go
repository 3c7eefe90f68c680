package symbols

import (
	"bytes"
	"debug/elf"
	"errors"

	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/symbols/internal/cfi"
	"github.com/go-usdt/usdt/symbols/internal/debuginfo"
)

// Source is a source file of which an object has code.
type Source struct {
	Path       string      // as the compiler was given it, made absolute if it says where it ran
	Lines      []int       // those with code, in order
	Statements []Statement // of the lines that were asked for, by line and address
}

// Statement is where the code of a line begins, or that of a function which was inlined.
type Statement struct {
	Line    int // 0 for a function
	Address uint64
	Func    string // the function, demangled
	Inlined bool   // into another one
}

// Code finds the code of source lines and inlined functions in one object, by its debugging
// information or that in a separate file. It is for one goroutine.
type Code struct {
	resolver *Resolver
	object   *item
	cfi      *cfi.Table
	funcs    *debuginfo.Functions

	interfaces interfaces
}

// OpenCode opens the object at path. named says that the user named it, and so trusts its author:
// then separate debugging information is also looked for beside it.
func OpenCode(path string, named bool) *Code {
	c := &Code{resolver: NewResolver(nil)}
	c.resolver.lacks = "lines or inlined functions are missing"
	c.object = c.resolver.objectOf(&mapped{named: named, open: func() (opened, error) {
		f, err := procfs.OpenFile(path)
		if err != nil {
			return opened{}, err
		}
		return newOpened(f, path)
	}})
	return c
}

// Close closes the object.
func (c *Code) Close() error {
	c.resolver.cache.release(c.object)
	return c.resolver.Close()
}

// info returns the object's debugging information, nil if there is none.
func (c *Code) info() *debuginfo.Info {
	o, ok := c.object.value.(*object)
	if !ok {
		return nil
	}
	return o.debug().info
}

// maxBTF is more bytes than the types of a program have.
const maxBTF = 64 << 20

// maxComment is more bytes than the names of a program's compilers have.
const maxComment = 1 << 20

// BTF returns the object's section .BTF. It is nil if there is none that can be read, or if LLVM has compiled
// the object: it removes arguments that no caller in the file needs, and BTF does not say so.
func (c *Code) BTF() []byte {
	o, ok := c.object.value.(*object)
	if !ok {
		return nil
	}
	s := o.elf.Section(".BTF")
	if s == nil {
		return nil
	}
	if c := o.elf.Section(".comment"); c != nil {
		if text, err := o.elf.Data(c, maxComment); err != nil || bytes.Contains(text, []byte("clang")) {
			return nil
		}
	}
	b, err := o.elf.Data(s, maxBTF)
	if err != nil {
		return nil
	}
	return b
}

// err returns what could not be read.
func (c *Code) err(err error) error {
	if c.object.err != nil {
		return c.object.err
	}
	return errors.Join(append(c.resolver.Refused(), err)...)
}

// Sources returns the source files that match, with the statements of their lines that line
// reports: in each function, inlined copy of one and block that has variables the first with its
// address, as debuggers have it. others are the paths of all other source files. With an error,
// there may be more.
func (c *Code) Sources(match func(path string) bool, line func(number int) bool) (found []Source, others []string, err error) {
	info := c.info()
	if info == nil {
		return nil, nil, c.err(nil)
	}
	sources, others, err := info.Sources(match, line)
	for i := range sources {
		s := sources[i]
		found = append(found, Source{Path: s.Path, Lines: s.Lines, Statements: statements(s.Statements)})
	}
	return found, others, c.err(err)
}

// Inlined returns where functions were inlined whose symbol, if debugging information has it, and
// name match. With an error, there may be more.
func (c *Code) Inlined(match func(symbol, name string) bool) ([]Statement, error) {
	info := c.info()
	if info == nil {
		return nil, c.err(nil)
	}
	found, err := info.Inlined(match)
	return statements(found), c.err(err)
}

func statements(all []debuginfo.Statement) (out []Statement) {
	for _, s := range all {
		out = append(out, Statement{Line: s.Line, Address: s.Addr, Func: s.Func, Inlined: s.Inlined})
	}
	return out
}

// Variables returns the variables in scope at an address, the innermost first, and members of
// structures, also behind one pointer, as NAME.MEMBER. With an error, some may be missing.
func (c *Code) Variables(addr uint64) ([]Variable, error) {
	info := c.info()
	if info == nil {
		return nil, c.err(nil)
	}
	all, err := info.Variables(addr, func() (reg uint8, off int64, ok bool) {
		t := c.frames()
		if t == nil {
			return 0, 0, false
		}
		return t.Row(addr).Frame()
	})
	return c.variables(all), c.err(err)
}

// frames returns the object's tables of call frames, or its separate file's.
func (c *Code) frames() *cfi.Table {
	if c.cfi != nil {
		return c.cfi
	}
	o := c.object.value.(*object)
	if c.cfi, _ = cfi.Read(o.elf); c.cfi == nil && o.debug().elf != nil {
		c.cfi, _ = cfi.Read(o.debug().elf)
	}
	return c.cfi
}

// Call says how a function is called.
type Call = debuginfo.Call

// Function returns the arguments of the function at addr, where they are at its entry, and its
// results, where they are at its return, with members of structures as Variables has them.
// known is false if debugging information does not know the function.
func (c *Code) Function(addr uint64, call Call) (args, results []Variable, known bool, err error) {
	if c.funcs == nil {
		info := c.info()
		if info == nil {
			return nil, nil, false, c.err(nil)
		}
		c.funcs = info.Functions()
	}
	in, out, known, err := c.funcs.At(addr, call)
	return c.variables(in), c.variables(out), known, c.err(err)
}

// Cast is a type that a value is said to have.
type Cast = debuginfo.Cast

// ErrNoType is the error for a type that debugging information does not have.
var ErrNoType = debuginfo.ErrNoType

// Cast returns the parts of a value by its type: the value itself, in register 0, and members of a
// structure to whose address it is a pointer, in memory at that register. Code at addr decides
// which of several types of the same name is meant. With ErrNoType, names has all types of that
// kind; known is false if there is no debugging information at all.
func (c *Code) Cast(addr uint64, cast Cast) (all []Variable, names []string, known bool, err error) {
	info := c.info()
	if info == nil {
		return nil, nil, false, c.err(nil)
	}
	found, names, err := info.Cast(addr, cast)
	if err != nil && err != ErrNoType {
		err = c.err(err)
	}
	return c.variables(found), names, true, err
}

// Unit returns the number of the compilation unit that the code at addr comes from, -1 if it is not
// known.
func (c *Code) Unit(addr uint64) int {
	if n, ok := c.info().Unit(addr); ok {
		return n
	}
	return -1
}

func (c *Code) variables(all []debuginfo.Variable) (out []Variable) {
	var whole *Variable // an interface, whose words follow
	for i := range all {
		if all[i].Interface {
			all[i].Named = c.namesOf(&all[i])
		}
		v := newVariable(&all[i])
		if v.Interface && len(v.Named) > 1 {
			o, _ := c.object.value.(*object)
			v.Relative = o.elf.Type == elf.ET_DYN
		}
		out = append(out, v)
		switch {
		case v.Interface && v.Type == errorType:
			whole = new(v)
		case whole != nil && v.Name == whole.Name+".data":
			out = append(out, c.insideErrors(whole)...)
			whole = nil
		}
	}
	return out
}
