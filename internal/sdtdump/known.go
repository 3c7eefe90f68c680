package sdtdump

import (
	"fmt"

	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/prototype"
	"github.com/go-usdt/usdt/reader"
)

// prototypeOf returns what is known of a probe's arguments from elsewhere than its object,
// nil if nothing is. args are the probe's arguments if the caller has them.
func (o *options) prototypeOf(p *reader.Probe, args []notes.Arg) *prototype.Prototype {
	if p.Type != nil || p.Args == "" || len(o.prototypes.Of(p.Provider, p.Name)) == 0 {
		return nil
	}
	if args == nil {
		args = p.Arguments()
	}
	return o.prototypes.Lookup(p.Provider, p.Name, args, notes.Class(p.Class))
}

// param returns argument i of a prototype, nil if it has no name; the prototype may be
// nil.
func param(known *prototype.Prototype, i int) *prototype.Param {
	if known == nil || i >= len(known.Params) || known.Params[i].Name == "" {
		return nil
	}
	return &known.Params[i]
}

// appendPrototype appends the declarations of all arguments: "char *name[len]; int len;".
func appendPrototype(b []byte, known *prototype.Prototype) []byte {
	for i := range known.Params {
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(append(b, known.Declare(i)...), ';')
	}
	return b
}

// goTypeOf returns what Go would call the type of argument a: that of the value in
// events.
func goTypeOf(param *prototype.Param, a *notes.Arg) string {
	switch {
	case param.Kind == prototype.Text || param.Kind == prototype.Text16:
		return "string"
	case param.Kind == prototype.Bool:
		return "bool"
	case param.Kind == prototype.Pointer:
		return "uintptr"
	case param.Unit == "ns" && a.Size == 8:
		return "time.Duration"
	}
	return noteType(a)
}

// bpftraceText returns a printf verb and an expression for text, empty if bpftrace has no
// way to read it.
func bpftraceText(param *prototype.Param, i int) (verb, value string) {
	arg := fmt.Sprintf("arg%d", i)
	if param.Follow {
		arg = fmt.Sprintf("*(uint64 *)(%s + %d)", arg, param.Offset)
	}
	switch {
	case param.Kind != prototype.Text || param.Length >= bpftraceMost:
		return "", ""
	case param.Length >= 0:
		// From 0.23 on, the length that str takes includes a NUL.
		return "%r", fmt.Sprintf("buf(%s, arg%d)", arg, param.Length)
	}
	return "%s", fmt.Sprintf("str(%s)", arg)
}
