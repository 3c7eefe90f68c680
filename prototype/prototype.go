package prototype

import "strings"

// Prototype names the arguments of a probe.
type Prototype struct {
	Provider, Name string
	Params         []Param
	// More says that there may be more arguments, without names.
	More bool
	// File and Line say where the prototype was read.
	File string
	Line int
}

// Param is an argument of a probe.
type Param struct {
	// Name is empty if the argument has no known name.
	Name string
	// Type is the type as C writes it, without the name: "char *", "unsigned int". It is
	// empty if only the argument's place is known.
	Type string
	Kind Kind
	// Size is the number of bytes of the declared type; 0 for a word of the program.
	Size int
	// Unit is what a number counts, such as "ns" or "bytes", or [ID], or whose name a text
	// is, "cxx" or "java"; usually empty.
	Unit string
	// Enum has the names of an Enumeration's values.
	Enum *Enum
	// Length is the place of the argument that holds the length of a text; -1 if the
	// text ends in a NUL.
	Length int
	// Follow says that the text's address is at Offset bytes behind where the argument
	// points to.
	Follow bool
	Offset int64
	// IsLength says that the argument is the length of a text, and nothing else.
	IsLength bool

	passed passing
}

// ID is the Unit of numbers that identify something, and measure nothing.
const ID = "id"

// Kind is what an argument is.
type Kind uint8

const (
	Unsigned    Kind = iota // an unsigned integer
	Signed                  // a signed integer
	Bool                    // 0 or not
	Float                   // IEEE 754
	Pointer                 // an address
	Text                    // a pointer to text
	Text16                  // a pointer to UTF-16 in the program's byte order
	Enumeration             // one of Enum's values
	Integer                 // an integer of any size and sign, which the note has
)

// Enum names the values of an enumeration.
type Enum struct {
	Name   string
	names  map[int64]string
	values map[string]int64
	order  []string
}

// NewEnum returns an enumeration without values.
func NewEnum(name string) *Enum {
	return &Enum{Name: name, names: map[int64]string{}, values: map[string]int64{}}
}

// Add adds a value. The first name of a value is the one by which it is shown.
func (e *Enum) Add(name string, value int64) {
	if _, ok := e.values[name]; !ok {
		e.order = append(e.order, name)
	}
	if _, ok := e.names[value]; !ok {
		e.names[value] = name
	}
	e.values[name] = value
}

// NameOf returns the name of a value, empty if it has none. If the names name single bits, several
// are joined as A|B.
func (e *Enum) NameOf(value int64) string {
	name, ok := e.names[value]
	if ok || value <= 0 || !e.flags() {
		return name
	}
	var all []string
	for _, one := range e.order {
		if v := e.values[one]; single(v) && value&v != 0 {
			all = append(all, one)
			value &^= v
		}
	}
	if value != 0 {
		return ""
	}
	return strings.Join(all, "|")
}

// minFlags is how many bits have names in an enumeration of flags: one of two values may as well be 1 and 2.
const minFlags = 3

// flags reports whether all values are bits, or none of them.
func (e *Enum) flags() bool {
	bits := 0
	for v := range e.names {
		switch {
		case single(v):
			bits++
		case v != 0:
			return false
		}
	}
	return bits >= minFlags
}

func single(v int64) bool { return v > 0 && v&(v-1) == 0 }

// Value returns the value of a name, also of several bits as NameOf writes them.
func (e *Enum) Value(name string) (all int64, ok bool) {
	if v, ok := e.values[name]; ok || !e.flags() {
		return v, ok
	}
	for one := range strings.SplitSeq(name, "|") {
		v, ok := e.values[one]
		if !ok {
			return 0, false
		}
		all |= v
	}
	return all, true
}

// Names returns the names in the order of their declaration.
func (e *Enum) Names() []string { return append([]string(nil), e.order...) }

// String returns the prototype as a line of a file, "<nil>" of a nil Prototype.
func (p *Prototype) String() string {
	if p == nil {
		return "<nil>"
	}
	var b strings.Builder
	b.WriteString(p.Provider + ":" + p.Name + "(")
	for i := range p.Params {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(p.Declare(i))
	}
	if p.More {
		if len(p.Params) > 0 {
			b.WriteString(", ")
		}
		b.WriteString("...")
	}
	return b.String() + ")"
}

// Declare returns the declaration of argument i as a file has it: "char *name[len]".
func (p *Prototype) Declare(i int) string {
	a := &p.Params[i]
	name := a.Name
	if name == "" {
		name = "_"
	}
	if a.Type == "" {
		return name
	}
	s := a.Type
	if !strings.HasSuffix(s, "*") {
		s += " "
	}
	s += name
	if a.Follow {
		s += "->" + itoa(a.Offset)
	}
	if a.Length >= 0 && (a.Kind == Text || a.Kind == Text16) {
		s += "[" + p.Params[a.Length].Name + "]"
	}
	if a.passed.as != "" {
		s += " as " + a.passed.as
	}
	if a.Unit != "" {
		s += " " + a.Unit
	}
	return s
}
