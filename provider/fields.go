package provider

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unsafe"

	"github.com/go-usdt/usdt/internal/btfgen"
	"github.com/go-usdt/usdt/notes"
)

// maxRecord is the size of the largest struct or array behind a pointer that is
// described as more than bytes. BTF counts bits in 32 bits.
const maxRecord = 64 << 20

// newRecordSignature describes a struct type whose values are argument blocks.
func newRecordSignature(t reflect.Type) (*signature, error) {
	if t.Kind() != reflect.Struct {
		return nil, errors.New("is not a struct type")
	}
	if t.Size() > notes.MaxBlockSize {
		return nil, errorf("has %d bytes, and tracers read at most %d: put what is large behind a pointer or in a slice", t.Size(), notes.MaxBlockSize)
	}
	d := describer{refs: &references{index: map[reflect.Type]int{}}}
	typ, err := d.structType(t, 0, 0)
	if err != nil {
		return nil, err
	}
	if d.fields > notes.MaxFields {
		return nil, errorf("has %d fields, and tracers read at most %d: put some behind a pointer", d.fields, notes.MaxFields)
	}
	if d.nesting > notes.MaxNesting {
		return nil, errorf("has structs and arrays %d deep in each other, and tracers tell at most %d apart", d.nesting, notes.MaxNesting)
	}
	d.describeReferences()
	if len(typ.Members) == 0 {
		if hidesAll(t) {
			return nil, errors.New("has no exported fields: export some, or give them a tag `usdt:\"name\"`")
		}
		typ = nil
	}
	if t.Size() == 0 {
		typ = nil // tracers read no blocks of no bytes
	}
	// The key is the description, not t, since types of the same name may differ.
	return &signature{key: "struct " + d.key.String(), note: strings.Join(d.note, " "), typ: typ, ipv4: d.refs.ipv4, texts: d.texts}, nil
}

// hidesAll reports whether a struct that shows no fields has some that are not exported.
func hidesAll(t reflect.Type) bool {
	for i := range t.NumField() {
		if f := t.Field(i); f.PkgPath != "" && f.Name != "_" && f.Tag.Get("usdt") != "-" {
			return true
		}
	}
	return false
}

// Limits on what is described of the types behind pointers.
const (
	// maxReferences is the largest number of structs; further ones appear as bytes.
	maxReferences = 64
	// maxLevel is the largest number of pointers on the way to a type that is not in
	// a struct, such as an element of []*[]int; what lies deeper is void.
	maxLevel = 8
)

// describer turns Go types into BTF and collects what the note says about them.
type describer struct {
	key  strings.Builder
	note []string
	refs *references

	texts []uint32 // where in the block a Text is
	form  form     // of bytes, by the tag of their field
	// These count what is described of the block itself: the number of fields, the
	// present depth, and the largest depth.
	fields, depth, nesting int
}

// references are the structs behind pointers. Each is described once, those fewest
// pointers away first. They may refer to each other and to themselves.
type references struct {
	index   map[reflect.Type]int
	types   []reflect.Type
	structs []*btfgen.Struct
	ipv4    uintptr // see signature
}

// reference returns the description of a struct behind a pointer, which
// describeReferences completes. It returns nil if there are too many structs, if this
// one is too large, or if it cannot be named.
func (d *describer) reference(t reflect.Type) *btfgen.Struct {
	i, ok := d.refs.index[t]
	if !ok {
		names := namesOf(fieldsOf(t))
		if len(d.refs.structs) == maxReferences || t.Size() > maxRecord || 2*len(names) > btfgen.MaxMembers || checkArgNames(names, len(names)) != nil {
			return nil
		}
		i = len(d.refs.structs)
		d.refs.index[t] = i
		d.refs.types = append(d.refs.types, t)
		d.refs.structs = append(d.refs.structs, &btfgen.Struct{Name: structName(t), Bytes: uint32(t.Size())})
	}
	fmt.Fprintf(&d.key, "&%d;", i)
	return d.refs.structs[i]
}

// describeReferences describes the structs that were referred to, and the structs that they refer
// to.
func (d *describer) describeReferences() {
	for i := 0; i < len(d.refs.structs); i++ {
		// Its names have been checked, and members refuses nothing else behind
		// pointers.
		d.members(d.refs.structs[i], d.refs.types[i], 1, 0)
	}
}

// structType describes the struct type t. level counts the pointers on the way to it;
// on level 0 it lies in the block itself, base bytes from the start.
func (d *describer) structType(t reflect.Type, level int, base uintptr) (*btfgen.Struct, error) {
	s := &btfgen.Struct{Name: structName(t), Bytes: uint32(t.Size())}
	err := d.members(s, t, level, base)
	names := namesOf(fieldsOf(t))
	return s, join(err, checkArgNames(names, len(names)))
}

// members adds the fields of t to s.
func (d *describer) members(s *btfgen.Struct, t reflect.Type, level int, base uintptr) error {
	fmt.Fprintf(&d.key, "%s %d{", s.Name, t.Size())
	defer d.key.WriteByte('}')
	var errs []error
	for _, f := range fieldsOf(t) {
		d.form = f.form
		err := d.field(s, f.typ, f.name, f.offset, level, base)
		if err == nil && level == 0 {
			err = f.err
		}
		if err != nil {
			errs = append(errs, errorf("field %s: %w", f.goName, err))
		}
	}
	return join(errs...)
}

func namesOf(fields []field) []string {
	var names []string
	for i := range fields {
		names = append(names, fields[i].name)
	}
	return names
}

// field adds a field to s, and its length if it has one. It lies offset bytes from the
// start of s.
func (d *describer) field(s *btfgen.Struct, t reflect.Type, name string, offset uintptr, level int, base uintptr) error {
	if level == 0 {
		d.fields++
	}
	fmt.Fprintf(&d.key, "%s@%d:", name, offset)
	member := func(name string, t btfgen.Type, offset uintptr) {
		s.Members = append(s.Members, btfgen.Member{Name: name, Type: t, Offset: uint32(offset)})
	}
	if behind, ok := lengthBehind(t, level); ok {
		pointer, err := d.pointee(t, level)
		if err != nil {
			return err
		}
		d.show(level, kindInfo{size: 8}, base+offset)
		d.show(level, kindInfo{size: 8}, base+offset+behind)
		d.text(t, base+offset)
		member(name, pointer, offset)
		member(lengthName(name), countType, offset+behind)
		return nil
	}
	v, err := d.value(t, level, base+offset)
	if err != nil {
		return err
	}
	member(name, v, offset)
	return nil
}

// show adds the scalar at offset to the note if the scalar lies in the block.
func (d *describer) show(level int, info kindInfo, offset uintptr) {
	if level == 0 && len(d.note) < maxNoteArgs {
		d.note = append(d.note, memoryOperand(info, int(offset)))
	}
}

// value describes a type that is not itself a field of a struct.
func (d *describer) value(t reflect.Type, level int, base uintptr) (btfgen.Type, error) {
	if k, ok := scalarKind(t); ok {
		d.show(level, kindInfos[k], base)
		fmt.Fprintf(&d.key, "%d;", k)
		return kindTypes[k], nil
	}
	if w := goWordsOf(t); w != nil {
		for i, info := range w.kinds {
			d.show(level, info, base+8*uintptr(i))
		}
		d.key.WriteString(w.typedef.Name + ";")
		d.refs.ipv4 |= w.ipv4
		return w.typedef, nil
	}
	if level == 0 {
		d.depth++
		d.nesting = max(d.nesting, d.depth)
		defer func() { d.depth-- }()
	}
	if behind, ok := lengthBehind(t, level); ok {
		d.key.WriteByte('e') // as an element
		ptr, err := d.pointee(t, level)
		d.text(t, base)
		return &btfgen.Struct{Bytes: uint32(t.Size()), Members: []btfgen.Member{
			{Name: "data", Type: ptr},
			{Name: lengthName("data"), Type: countType, Offset: uint32(behind)},
		}}, err
	}
	switch t.Kind() {
	case reflect.Struct:
		if level == 0 && t == ipType {
			return nil, errors.New("a provider.IP is for arguments: make the field a netip.Addr")
		}
		if level == 0 {
			return d.structType(t, level, base)
		}
		if s := d.reference(t); s != nil {
			return s, nil
		}
		return d.opaque(t), nil
	case reflect.Array:
		if t.Size() > maxRecord {
			return d.opaque(t), nil
		}
		fmt.Fprintf(&d.key, "[%d]", t.Len())
		// Elements are for typed readers only: one array could fill the note.
		sub := describer{refs: d.refs, fields: d.fields + 1, depth: d.depth, nesting: d.nesting, form: d.form}
		elem, err := sub.value(t.Elem(), level, 0)
		d.fields, d.nesting = sub.fields, sub.nesting
		d.key.WriteString(sub.key.String())
		for i := range t.Len() {
			for _, at := range sub.texts {
				d.texts = append(d.texts, uint32(base)+uint32(i)*uint32(t.Elem().Size())+at)
			}
		}
		if t.Elem().Kind() == reflect.Uint8 {
			fmt.Fprintf(&d.key, "f%d;", d.form)
			switch d.form {
			case formText:
				elem = charType
			case formBytes:
				return btfgen.Typedef{Name: notes.BytesType, Of: btfgen.Array{Elem: elem, Len: uint32(t.Len())}}, err
			}
		}
		return btfgen.Array{Elem: elem, Len: uint32(t.Len())}, err
	case reflect.Pointer, reflect.UnsafePointer:
		d.show(level, kindInfo{size: 8}, base)
		return d.pointee(t, level)
	}
	if level == 0 {
		return nil, errorf("tracers cannot read values of kind %v: make the field a provider.Text, set by provider.%s, or leave it out by the tag `usdt:\"-\"`", t.Kind(), converter(t))
	}
	return d.opaque(t), nil
}

// opaque describes a type as bytes.
func (d *describer) opaque(t reflect.Type) btfgen.Type {
	fmt.Fprintf(&d.key, "?%d;", t.Size())
	return btfgen.Array{Elem: ucharType, Len: uint32(min(t.Size(), maxRecord))}
}

// lengthBehind reports whether a value begins with a pointer to text, bytes or
// elements, and how many bytes behind the pointer their number lies. A Text is
// converted in the block only: what lies behind pointers is fired as it is.
func lengthBehind(t reflect.Type, level int) (bytes uintptr, ok bool) {
	if t == textType {
		return unsafe.Offsetof(Text{}.length) - unsafe.Offsetof(Text{}.value), level == 0
	}
	return 8, t.Kind() == reflect.String || t.Kind() == reflect.Slice
}

// text records where a Text lies in the block, if t is its type.
func (d *describer) text(t reflect.Type, at uintptr) {
	if t == textType {
		d.texts = append(d.texts, uint32(at))
	}
}

// pointee describes the pointer in a value of type t: a pointer, string or slice, or
// a Text.
func (d *describer) pointee(t reflect.Type, level int) (btfgen.Type, error) {
	fmt.Fprintf(&d.key, "%v*", t.Kind())
	switch {
	case t == textType:
		d.key.WriteString("t;")
		return kindTypes[kindText], nil
	case t.Kind() == reflect.String:
		return d.bytes(formText), nil
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return d.bytes(formOfName(t)), nil
	case t.Kind() == reflect.UnsafePointer || level == maxLevel:
		d.key.WriteString("v;")
		return btfgen.Pointer{}, nil
	}
	elem, err := d.value(t.Elem(), level+1, 0)
	return btfgen.Pointer{To: elem}, err
}

// bytes describes the pointer to bytes that have a form by their type, unless their field
// has one.
func (d *describer) bytes(f form) btfgen.Type {
	if d.form != formOfType {
		f = d.form
	}
	fmt.Fprintf(&d.key, "f%d;", f)
	switch f {
	case formText:
		return kindTypes[kindString]
	case formHex:
		return kindTypes[kindHex]
	case formAddress:
		return btfgen.Typedef{Name: notes.NetIPType, Of: kindTypes[kindBytes]}
	}
	return kindTypes[kindBytes]
}

// converter returns what makes a Text of a value of type t.
func converter(t reflect.Type) string {
	switch {
	case t.Kind() != reflect.Interface:
		return "As"
	case t.Name() == "error" && t.PkgPath() == "":
		return "Error"
	}
	return "Error, Stringer or As"
}

// scalarKind returns the kind of a number or bool.
func scalarKind(t reflect.Type) (kind, bool) {
	switch t.Kind() {
	case reflect.Int64, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int,
		reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint, reflect.Uintptr,
		reflect.Float32, reflect.Float64, reflect.Bool:
		return kindOfType(t), true
	}
	return 0, false
}

// structName returns the name of a struct type if it is also a name in C.
func structName(t reflect.Type) string {
	if !isIdentifier(t.Name()) || cKeywords[t.Name()] {
		return "" // unnamed, generic, or no name in C
	}
	return t.Name()
}
