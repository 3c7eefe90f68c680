package tracepoint

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/go-usdt/usdt/reader"
)

const (
	// firstField is where the fields of an event begin. The kernel does not let programs read what is in
	// front, which all events have: their number and what is known of the task.
	firstField = 8
	// maxRecord is the size of the largest record (PERF_MAX_TRACE_SIZE, include/linux/trace_events.h).
	maxRecord = 8192
	// maxFields bounds what is kept of a format.
	maxFields = 256
)

// ErrFormat is wrapped by the error for a format that is not understood.
var ErrFormat = errors.New("its format is not understood")

// field is a field as a format describes it.
type field struct {
	name, typ string
	offset    int
	number    // of the whole, or of an element of an array
	array     bool
	count     int  // of an array's elements
	located   bool // elsewhere in the record, where a word at offset says
	relative  bool // counted from the end of this word
	text      bool // behind a pointer, or the array's
	length    string
	err       error // why it cannot be read
}

// Parse returns the fields that the format of an event of a system describes, without the ones that all
// events have. See [reader.KernelFunction].
func Parse(format []byte, system string) ([]reader.Variable, error) {
	described, printed, _ := strings.Cut(string(format), "\nprint fmt:")
	var fields []field
	found := false
	for line := range strings.Lines(described) {
		line, ok := strings.CutPrefix(strings.TrimSpace(line), "field:")
		if !ok {
			continue
		}
		found = true
		f, err := parseField(line)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%w: %q: %w", ErrFormat, line, err)
		case f.offset < firstField:
			continue
		case len(fields) == maxFields:
			return nil, fmt.Errorf("%w: it has more than %d fields", ErrFormat, maxFields)
		}
		fields = append(fields, f)
	}
	if !found {
		return nil, fmt.Errorf("%w: it has no fields", ErrFormat)
	}
	if system == syscalls {
		fields = ofCalls(fields)
	}
	var out, lengths []reader.Variable
	for i := range fields {
		f := &fields[i]
		v := f.variable()
		v.Named = symbols(printed, f.name)
		// Text that is printed by its length, as by xfs, need not end with a NUL.
		terminated := !strings.Contains(printed, "%.*s") && (strings.Contains(printed, "__get_str("+f.name+")") || strings.Contains(printed, "__get_rel_str("+f.name+")"))
		if f.located && f.err == nil && !(f.text && terminated) {
			v.Length = "len(" + f.name + ")"
			lengths = append(lengths, reader.Variable{
				Name: v.Length, Type: "unsigned short", Kind: reader.Uint, Size: 2, Register: -1,
				Offset: int64(f.offset + 2), Bit: bits.TrailingZeros(uint(f.size)),
			})
		}
		out = append(out, v)
	}
	return append(out, lengths...), nil
}

// parseField parses "TYPE NAME;\toffset:N;\tsize:N;\tsigned:N;". The error concerns the whole format; a
// field that cannot be read says so itself.
func parseField(line string) (f field, err error) {
	parts := strings.Split(strings.TrimSuffix(line, ";"), ";")
	numbers := map[string]int{}
	for _, part := range parts[1:] {
		name, value, _ := strings.Cut(strings.TrimSpace(part), ":")
		if numbers[name], err = strconv.Atoi(value); err != nil {
			return f, errors.New("a number is missing")
		}
	}
	f.offset, f.size, f.signed = numbers["offset"], numbers["size"], numbers["signed"] == 1
	if _, ok := numbers["size"]; !ok || f.size < 0 || f.offset < 0 || f.size > maxRecord || f.offset > maxRecord-f.size {
		return f, errors.New("it is not in the record")
	}
	if f.declare(parts[0]); f.name == "" {
		return f, errors.New("it has no name")
	}
	return f, nil
}

// declare understands the declaration of a field.
func (f *field) declare(declaration string) {
	text, located := strings.CutPrefix(strings.TrimSpace(declaration), "__data_loc ")
	if !located {
		text, located = strings.CutPrefix(text, "__rel_loc ")
		f.relative = located
	}
	f.located = located
	text, elements := cutElements(text)
	if _, pointer, ok := strings.Cut(text, "(*"); ok { // to a function
		text, _, _ = strings.Cut(pointer, ")")
		text = "void * " + text
	}
	cut := strings.LastIndexAny(text, " *") + 1
	f.name, f.typ = text[cut:], strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text[:cut]), "[]")) // of one that is located, the name is behind the brackets
	whole := f.size
	of := strings.TrimPrefix(f.typ, "const ")
	f.array = located || elements >= 0
	switch {
	case located && whole != 4:
		f.err = fmt.Errorf("%d bytes say where it is, not 4", whole)
	case located, elements == 0:
		f.number = sizes[of]
		if strings.HasSuffix(of, "*") {
			f.size = 8
		}
	case elements > 0 && whole%elements == 0:
		f.size = whole / elements
	}
	if f.array && !located && f.size > 0 {
		f.count = whole / f.size
	}
	f.text = f.array && of == "char" || !f.array && f.typ == "const char *" && f.size == 8
	switch {
	case located:
		f.typ += "[]"
	case f.array:
		f.typ = fmt.Sprintf("%s[%d]", f.typ, f.count)
	}
	switch {
	case f.err != nil:
	case f.size != 1 && f.size != 2 && f.size != 4 && f.size != 8:
		f.err = fmt.Errorf("a %s is no number of up to 8 bytes", f.typ)
	case f.array && !located && f.count == 0:
		f.err = errors.New("it has no elements")
	}
}

// cutElements cuts the number of an array's elements off a declaration: -1 if it is no array, 0 if the number
// is a name.
func cutElements(text string) (declaration string, elements int) {
	text = strings.TrimSpace(text)
	open := strings.LastIndexByte(text, '[')
	if open <= 0 || !strings.HasSuffix(text, "]") {
		return text, -1
	}
	elements, err := strconv.Atoi(text[open+1 : len(text)-1])
	if err != nil || elements < 0 {
		elements = 0
	}
	return strings.TrimSpace(text[:open]), elements
}

// variable returns the field as readers have it.
func (f *field) variable() reader.Variable {
	v := reader.Variable{
		Name: f.name, Type: f.typ, Argument: true, Kind: reader.Uint, Size: f.size, Err: f.err, Register: -1,
		Offset: int64(f.offset), Memory: f.array && !f.located, Follow: f.located, Length: f.length,
	}
	if f.relative {
		v.FollowOffset = int64(f.offset + 4)
	}
	switch {
	case f.text:
		v.Kind, v.Size, v.Count = reader.String, 8, f.count
	case f.typ == "bool" && f.size == 1:
		v.Kind = reader.Bool
	case f.signed:
		v.Kind = reader.Int
	}
	if f.array && !f.text {
		v.Count, v.Stride = f.count, f.size
	}
	return v
}

// symbols returns the names that the text of an event has for a field's values, nil if it has none:
// __print_symbolic(REC->field, { 0, "NAME" }, { 1, "OTHER" }), or for its bits:
// __print_flags(REC->field, "|", { (1u << 0), "NAME" }, { 0x2, "OTHER" }).
func symbols(printed, field string) (out []reader.NamedValue) {
	_, rest, ok := strings.Cut(printed, "__print_symbolic(REC->"+field+",")
	if !ok {
		_, rest, ok = strings.Cut(printed, "__print_flags(REC->"+field+", \"|\",")
	}
	if !ok {
		return nil
	}
	for {
		rest = strings.TrimLeft(rest, " ,")
		entry, after, ok := strings.Cut(strings.TrimPrefix(rest, "{"), "}")
		if !strings.HasPrefix(rest, "{") {
			break
		}
		number, name, comma := strings.Cut(entry, ",")
		value, known := constant(number)
		name = strings.TrimSpace(name)
		if !ok || !comma || !known || len(name) < 2 || name[0] != '"' || strings.IndexByte(name[1:], '"') != len(name)-2 {
			return nil // an expression, whose value is not known
		}
		if name = name[1 : len(name)-1]; !slices.ContainsFunc(out, func(v reader.NamedValue) bool { return v.Value == value }) {
			out = append(out, reader.NamedValue{Name: name, Value: value})
		}
		if rest = after; len(out) > maxFields {
			return nil
		}
	}
	return out
}

// constant returns a number as C writes it, or one that is shifted, in whatever parentheses.
func constant(text string) (value int64, ok bool) {
	text = strings.NewReplacer("(", "", ")", "", " ", "").Replace(text)
	one, shift, shifted := strings.Cut(text, "<<")
	value, err := strconv.ParseInt(strings.TrimRight(one, "uUlL"), 0, 64)
	if err != nil || !shifted {
		return value, err == nil
	}
	n, err := strconv.ParseUint(shift, 10, 6)
	return value << n, err == nil
}
