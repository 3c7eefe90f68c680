package bind

import (
	"slices"

	"github.com/go-usdt/usdt/internal/kernfunc"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/prototype"
	"github.com/go-usdt/usdt/reader"
)

// known returns what is known of a probe's arguments from elsewhere than its object, nil
// if nothing is.
func (b *Binder) known(p *reader.Probe) *prototype.Prototype {
	if p.Kind.InKernel() {
		return kernfunc.Known(p)
	}
	if p.Type != nil || p.Target != nil || len(b.Prototypes.Of(p.Provider, p.Name)) == 0 {
		return nil
	}
	return b.Prototypes.Lookup(p.Provider, p.Name, p.Arguments(), notes.Class(p.Class))
}

// bindKnown gives the arguments of a note their names and kinds. Text is made of them by
// stringArg.
func (s *Schema) bindKnown(known *prototype.Prototype, args []notes.Arg) {
	for i := range args {
		if i >= len(known.Params) || known.Params[i].Name == "" {
			continue
		}
		param, arg, f := &known.Params[i], &args[i], &s.Fields[i]
		f.Name = param.Name
		narrow(arg, param)
		f.Kind = kindOf(*arg)
		s.name(param)
		switch {
		case param.Kind == prototype.Bool && !arg.Float:
			f.Kind = reader.Bool
		case param.Unit == "ns" && !arg.Float && (arg.Size == 8 || arg.Kind == notes.Imm):
			f.Kind, f.Meaning = reader.Int, reader.Duration
		}
	}
}

// name notes the names of a parameter's values, if it has any.
func (s *Schema) name(param *prototype.Param) {
	if param.Kind == prototype.Text && param.Unit != "" {
		if s.units == nil {
			s.units = map[string]string{}
		}
		s.units[param.Name] = param.Unit
	}
	s.nameValues(param.Name, param.Enum)
}

// nameValues notes the names of a field's values, if there are any.
func (s *Schema) nameValues(field string, enum *prototype.Enum) {
	if enum == nil {
		return
	}
	if s.enums == nil {
		s.enums = map[string]*prototype.Enum{}
	}
	s.enums[field] = enum
}

// enumOf returns the enumeration whose value an argument is, nil if it is none.
func (s *Schema) enumOf(name string) *prototype.Enum {
	if len(s.enums) == 0 {
		return nil
	}
	f, err := s.Resolve(name)
	if err != nil {
		return nil
	}
	return s.enums[f.Name]
}

// unitOf returns the unit of a text, empty if it has none.
func (s *Schema) unitOf(name string) string {
	if len(s.units) == 0 {
		return ""
	}
	f, err := s.Resolve(name)
	if err != nil {
		return ""
	}
	return s.units[f.Name]
}

// narrow makes an argument what it was before the program passed it as a longer one, or
// one of another sign. A constant becomes what a variable would be: compilers give it the
// type of a literal.
func narrow(arg *notes.Arg, param *prototype.Param) {
	if arg.Err != nil || arg.Float {
		return
	}
	if arg.Kind == notes.Imm && param.Size > arg.Size && arg.Symbol == "" {
		arg.Value = bitsOf(constantOf(arg.Value, uint8(arg.Size), kindOf(*arg), reader.Plain))
		arg.Size = param.Size
	}
	switch param.Kind {
	case prototype.Signed, prototype.Unsigned, prototype.Enumeration:
		if param.Size != 0 {
			arg.Size = min(arg.Size, param.Size)
		}
		if param.Kind != prototype.Enumeration {
			arg.Signed = param.Kind == prototype.Signed
		}
	}
}

// knownString returns how a known argument is read as a string, nil if it is no text.
func knownString(known *prototype.Prototype, i int) *StringArg {
	if known == nil || i >= len(known.Params) {
		return nil
	}
	param := &known.Params[i]
	if param.Kind != prototype.Text && param.Kind != prototype.Text16 {
		return nil
	}
	t := &StringArg{arg: shape.ArgName(i), follow: param.Follow, offset: param.Offset, wide: param.Kind == prototype.Text16}
	if param.Length >= 0 {
		t.length = shape.ArgName(param.Length)
	}
	return t
}

// hideLengths makes the lengths of texts fields that events do not hold, and notes the
// places of all arguments by their names.
func (s *Schema) hideLengths(known *prototype.Prototype) {
	for i := range s.Fields {
		s.Places = append(s.Places, s.Fields[i].Name)
	}
	shown := s.Fields[:0:0]
	for i := range s.Fields {
		text := func(a prototype.Param) bool { return a.Length == i }
		if i < len(known.Params) && known.Params[i].IsLength && slices.ContainsFunc(known.Params, text) {
			s.Unshown = append(s.Unshown, s.Fields[i])
		} else {
			shown = append(shown, s.Fields[i])
		}
	}
	s.Fields = shown
}
