package kernfunc

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-usdt/usdt/reader"
)

// Kind is what an argument or a result is.
type Kind uint8

const (
	Int Kind = iota
	Bool
	Enum
	Pointer
	Text  // a pointer to char
	Other // a structure, a number of 16 bytes
)

// Param is an argument of a function, or its result.
type Param struct {
	Name, Type string
	ID         uint32 // of the type
	Kind       Kind
	Size       int // bytes
	Signed     bool
	Float      bool   // a floating-point number, which is Other: the kernel has none
	Enum       string // its name, of an enumeration with one
	Values     []Value
}

// Value is a name of an enumeration's value.
type Value = reader.NamedValue

// Prototype is what BTF says of a function.
type Prototype struct {
	Params []Param
	Result *Param // nil for void
	// ByValue says that the result is a structure.
	ByValue bool
	// More says that there may be more arguments.
	More bool
	// Type is the name by which BTF has the function, and ID its number there.
	Type string
	ID   uint32
}

// maxParams is more arguments than a function of the kernel has.
const maxParams = 32

var (
	// ErrNoTypes is the error for a function of which BTF says nothing: one that the compiler has
	// made of another (NAME.isra.0), or code in assembly.
	ErrNoTypes = errors.New("the kernel's types (BTF) do not have it")
	errSeveral = errors.New("the kernel's types (BTF) have several functions of this name, with other arguments each")
)

// prototype returns the prototype of the function that one of names names.
func (t *types) prototype(names func(yield func(string) bool)) (*Prototype, error) {
	var several error
	for name := range names {
		id, ok := t.functions[name]
		if ok && id == 0 {
			several = errSeveral
		}
		if id == 0 {
			continue
		}
		p, err := t.proto(id)
		if p != nil {
			p.Type, p.ID = name, id
		}
		return p, err
	}
	if several != nil {
		return nil, several
	}
	return nil, ErrNoTypes
}

// proto returns the prototype of a function by its number.
func (t *types) proto(id uint32) (*Prototype, error) {
	fn, ok := t.of(id)
	if !ok || fn.kind != kindFunc {
		return nil, fmt.Errorf("%w: type %d is no function", errBTF, id)
	}
	proto, ok := t.of(fn.value)
	if !ok || proto.kind != kindFuncProto || proto.parts > maxParams {
		return nil, fmt.Errorf("%w: type %d is no function's", errBTF, fn.value)
	}
	out := &Prototype{}
	if proto.value != 0 {
		result, ok := t.param("retval", proto.value)
		if ok {
			out.Result = &result
		}
		bare, _ := t.bare(proto.value)
		out.ByValue = bare.kind == kindStruct || bare.kind == kindUnion
	}
	out.Params = make([]Param, 0, proto.parts)
	for i := range proto.parts {
		body := proto.body[8*i:]
		name, id := t.string(t.order.Uint32(body)), t.order.Uint32(body[4:])
		p, ok := t.param(name, id)
		if !ok {
			out.More = true
			break
		}
		if p.Name == "" {
			p.Name = fmt.Sprintf("arg%d", i)
		}
		out.Params = append(out.Params, p)
	}
	return out, nil
}

// param returns an argument of a type; ok is false for void. Arguments of one type share its Values.
func (t *types) param(name string, id uint32) (p Param, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p, ok = t.params[id]; !ok {
		if p, ok = t.newParam(id); !ok {
			return p, false
		}
		if t.params == nil {
			t.params = map[uint32]Param{}
		}
		t.params[id] = p
	}
	p.Name = name
	return p, true
}

// newParam returns an argument of a type, without a name.
func (t *types) newParam(id uint32) (p Param, ok bool) {
	typ, ok := t.bare(id)
	if !ok {
		return p, false
	}
	p = Param{Type: t.declare(id), ID: id, Size: int(typ.value), Kind: Other}
	switch typ.kind {
	case kindInt:
		encoding := t.order.Uint32(typ.body) >> 24 // BTF_INT_SIGNED, _CHAR, _BOOL
		p.Signed, p.Kind = encoding&1 != 0, Int
		if encoding&4 != 0 {
			p.Kind = Bool
		}
		if p.Size > 8 {
			p.Kind = Other
		}
	case kindPtr:
		p.Kind, p.Size = Pointer, 8
		if to, ok := t.bare(typ.value); ok && to.kind == kindInt && to.value == 1 && t.isChar(typ.value, "char") {
			p.Kind = Text
		}
	case kindEnum:
		p.Kind, p.Signed, p.Enum = Enum, typ.flag, t.string(typ.name)
		for i := range typ.parts {
			v := t.order.Uint32(typ.body[8*i+4:])
			value := int64(int32(v))
			p.Values = append(p.Values, Value{Name: t.string(t.order.Uint32(typ.body[8*i:])), Value: value})
			p.Signed = p.Signed || value < 0
		}
	case kindEnum64:
		p.Kind, p.Signed, p.Enum = Enum, typ.flag, t.string(typ.name)
		for i := range typ.parts {
			low, high := t.order.Uint32(typ.body[12*i+4:]), t.order.Uint32(typ.body[12*i+8:])
			p.Values = append(p.Values, Value{Name: t.string(t.order.Uint32(typ.body[12*i:])), Value: int64(uint64(high)<<32 | uint64(low))})
		}
	case kindFloat:
		p.Float = true
	case kindArray:
		p.Size = 8 // as a parameter it is a pointer, and no compiler leaves it an array
	case kindStruct:
		if id, ok := t.only(typ, maxDepth); ok {
			if in, ok := t.newParam(id); ok && in.Size == p.Size && (in.Kind == Int || in.Kind == Bool || in.Kind == Enum) {
				in.Type, in.ID = p.Type, p.ID
				return in, true
			}
		}
	}
	return p, true
}

// only returns the type of the number that is all that a structure holds, as kuid_t and pte_t do: it is passed as the
// number is.
func (t *types) only(of typ, depth int) (id uint32, ok bool) {
	if of.parts != 1 || of.in.order.Uint32(of.body[8:]) != 0 || depth == 0 { // where the member is, and how many bits it has
		return 0, false
	}
	id = of.in.order.Uint32(of.body[4:])
	member, ok := t.bare(id)
	if ok && member.kind == kindArray && member.in.order.Uint32(member.body[8:]) == 1 {
		id = member.in.order.Uint32(member.body)
		member, ok = t.bare(id)
	}
	if ok && member.kind == kindStruct {
		return t.only(member, depth-1)
	}
	return id, ok
}

// isChar reports whether a type of one byte is called char, or otherwise: u8 points to anything.
func (t *types) isChar(id uint32, called ...string) bool {
	for range maxDepth {
		typ, ok := t.of(id)
		if !ok {
			return false
		}
		switch typ.kind {
		case kindVolatile, kindConst, kindRestrict, kindTypeTag:
			id = typ.value
		case kindInt:
			return slices.Contains(called, t.string(typ.name))
		default:
			return false
		}
	}
	return false
}

// Places returns where the arguments are at the function's entry, as notes of USDT write them, for
// an architecture as Go names it. A place is empty if the argument is none that can be read as a
// number.
func (p *Prototype) Places(goarch string) []string {
	// System V ABI, AMD64 supplement, 3.2.3, and Procedure Call Standard for the Arm 64-bit
	// Architecture, 6.8, without floating-point numbers, which the kernel has none of.
	registers, stack, next := []string{"%rdi", "%rsi", "%rdx", "%rcx", "%r8", "%r9"}, "%d(%%rsp)", 8
	arm := goarch == "arm64"
	if arm {
		registers, stack, next = []string{"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7"}, "[sp, %d]", 0
	}
	used := 0
	out := make([]string, len(p.Params))
	for i := range p.Params {
		a := &p.Params[i]
		words := max(1, (a.Size+7)/8)
		if words > 2 && arm {
			words = 1 // a pointer to a copy
		}
		if used+words <= len(registers) && words <= 2 {
			if a.Kind != Other {
				out[i] = a.place(registers[used])
			}
			used += words
			continue
		}
		if arm {
			used = len(registers)
		}
		if a.Kind != Other {
			out[i] = a.place(fmt.Sprintf(stack, next))
		}
		next += 8 * words
	}
	return out
}

// MaxSaved is how many words of arguments are read of what a trampoline saves.
const MaxSaved = 10

// savedRegisters stand for the words that a trampoline saves, whether they were in registers or not:
// their order is that of the arguments.
var savedRegisters = map[string][MaxSaved]string{
	"amd64": {"%rdi", "%rsi", "%rdx", "%rcx", "%r8", "%r9", "%r10", "%r11", "%r12", "%r13"},
	"arm64": {"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9"},
}

// Saved is Places for programs that a trampoline calls, which saves the arguments one after the
// other.
func (p *Prototype) Saved(goarch string) []string {
	registers := savedRegisters[goarch]
	out := make([]string, len(p.Params))
	used := 0
	for i := range p.Params {
		if a := &p.Params[i]; a.Kind != Other && used < MaxSaved && registers[used] != "" {
			out[i] = a.place(registers[used])
		}
		used += max(1, (p.Params[i].Size+7)/8)
	}
	return out
}

// ResultPlace returns where a function's result is after its return, empty if it is no number.
func (p *Prototype) ResultPlace(goarch string) string {
	if p.Result == nil || p.Result.Kind == Other {
		return ""
	}
	if goarch == "arm64" {
		return p.Result.place("x0")
	}
	return p.Result.place("%rax")
}

// savedResult is ResultPlace for programs that a trampoline calls.
func (p *Prototype) savedResult(goarch string) string {
	if goarch == "arm64" && p.ResultPlace(goarch) != "" {
		return p.Result.place("x10") // x0 has an argument
	}
	return p.ResultPlace(goarch)
}

func (p *Param) place(at string) string {
	sign := ""
	if p.Signed {
		sign = "-"
	}
	return sign + strconv.Itoa(p.Size) + "@" + at
}

// String returns the prototype as C declares a function of a name.
func (p *Prototype) String(name string) string {
	result := Param{Name: name, Type: "void"}
	if p.Result != nil {
		result.Type = p.Result.Type
	}
	out := append(result.appendTo(make([]byte, 0, 128)), '(')
	for i := range p.Params {
		if i > 0 {
			out = append(out, ", "...)
		}
		out = p.Params[i].appendTo(out)
	}
	switch {
	case p.More && len(p.Params) > 0:
		out = append(out, ", ..."...)
	case p.More:
		out = append(out, "..."...)
	case len(p.Params) == 0:
		out = append(out, "void"...)
	}
	return string(append(out, ')'))
}

// appendTo appends the parameter as C declares it.
func (p *Param) appendTo(out []byte) []byte {
	out = append(out, p.Type...)
	if !strings.HasSuffix(p.Type, "*") {
		out = append(out, ' ')
	}
	return append(out, p.Name...)
}
