package provider

import (
	"reflect"
	"slices"
	"strings"
	"unsafe"

	"github.com/go-usdt/usdt/internal/stub"
)

// StructProbe is a probe whose arguments are the fields of a struct. Make one with
// NewStructProbe.
type StructProbe[T any] struct {
	sem stub.Semaphore
	probe
}

// NewStructProbe declares a probe in a provider or group whose arguments are the
// fields of the struct type T, named as there or by a tag `usdt:"name"`. Fields tagged
// `usdt:"-"`, blank fields, and fields that are neither exported nor tagged are left out. Fields
// of embedded structs are promoted by the rules of encoding/json; an embedded pointer is a field
// with its type's name.
//
// A tag `usdt:",hex"`, or `usdt:"name,hex"`, shows bytes as hexadecimal digits, text shows
// them as text, up to a NUL in arrays, and bytes as they are. For a field of bytes the word
// alone does: `usdt:"text"`. If the tag has no such word, arrays are shown as digits, slices as
// they are.
//
// Fields may have any type of [Arg] except [IP], and be arrays of any size, structs, slices and
// pointers. Typed readers see all of them, and what pointers and slices point to, as they lie in
// memory. They recognize a [time.Duration], a [time.Time] with types defined from it, and a
// netip.Addr anywhere; a netip.AddrPort or netip.Prefix is a struct of an address and a number. A
// [Text] is converted where it lies in the record itself, including its structs and arrays, but not
// behind pointers and in slices. Other tracers see the first twelve numbers, pointers and lengths.
//
// Load reports an error for maps, channels, functions, interfaces and complex
// numbers, and for records that tracers cannot read: structs of more than 15 KiB, 4,096 fields or
// 16 levels. It also reports what is wrong with the declaration.
//
//go:noinline
func NewStructProbe[T any](in Scope, name string) *StructProbe[T] {
	return (*StructProbe[T])(declareRecord(in, name, reflect.TypeFor[T]()))
}

// Enabled reports whether somebody watches the probe.
func (p *StructProbe[T]) Enabled() bool { return p != nil && p.sem.Active() }

// Fire passes the record to attached tracers. It copies nothing, unless there is a
// [Text] in the record: tracers read r where it lies, before Fire returns. They see
// that a nil r is nil.
func (p *StructProbe[T]) Fire(r *T) {
	if p != nil && p.sem.Active() {
		p.fire(r)
	}
}

// fire passes the record by its address: it lives until the stub returns.
//
//go:noinline
func (p *StructProbe[T]) fire(r *T) {
	if len(p.sig.texts) > 0 && r != nil {
		p.fireTexts(r)
		return
	}
	if p.others() && !p.callOthersAt(unsafe.Pointer(r)) {
		return
	}
	stub.CallAt(&p.site, unsafe.Pointer(r), p.sig.ipv4)
}

// fireTexts fires a copy of the record in which each Text is converted to its string.
//
//go:noinline
func (p *StructProbe[T]) fireTexts(r *T) {
	made := *r
	p.sig.makeTexts(noescape(unsafe.Pointer(&made)))
	if p.others() && !p.callOthersAt(unsafe.Pointer(&made)) {
		return
	}
	stub.CallAt(&p.site, unsafe.Pointer(&made), p.sig.ipv4)
}

// FireFunc is like Fire with the record that f returns. It calls f only while somebody
// watches.
func (p *StructProbe[T]) FireFunc(f func() T) {
	if p != nil && p.sem.Active() {
		p.fireFunc(f)
	}
}

//go:noinline
func (p *StructProbe[T]) fireFunc(f func() T) {
	r := f()
	p.fire(&r)
}

// recordSignature returns the signature for records of type t. Types with equal
// fields share one. The provider is locked.
func (p *Provider) recordSignature(t reflect.Type) (*signature, error) {
	if r, ok := p.records[t]; ok {
		return r.sig, r.err
	}
	sig, err := newRecordSignature(t)
	if err != nil {
		sig, err = nil, errorf("record %v: %w", t, err)
	} else if s := p.signatures[sig.key]; s != nil {
		sig = s
	} else {
		p.signatures[sig.key] = sig
	}
	p.records[t] = recordSignature{sig: sig, err: err}
	return sig, err
}

type recordSignature struct {
	_   [0]func() // without a function that compares two
	sig *signature
	err error
}

// field is a field of a struct as tracers see it: one of its own, or one that a struct
// embedded in it promotes.
type field struct {
	name   string
	typ    reflect.Type
	offset uintptr
	form   form
	goName string // in the program
	err    error  // of its tag

	depth  int  // structs in which it is embedded
	tagged bool // whether the name is a tag's
}

// fieldsOf returns the fields of a struct in the order of their places, by the rules of
// package encoding/json: of fields with one name, the least deeply embedded ones count, of these
// the one with a tag, and none if there are several. Two fields of t itself that have one name
// are both returned.
func fieldsOf(t reflect.Type) []field {
	all := appendFields(nil, t, 0, 0)
	if !slices.ContainsFunc(all, func(f field) bool { return f.depth > 0 }) {
		return all
	}
	var kept []field
	for i := range all {
		if dominates(&all[i], all) {
			kept = append(kept, all[i])
		}
	}
	return kept
}

// dominates reports whether no other field hides f, nor makes it ambiguous.
func dominates(f *field, all []field) bool {
	for i := range all {
		other := &all[i]
		if other == f || other.name != f.name {
			continue
		}
		if other.depth < f.depth || other.depth == f.depth && f.depth > 0 && (other.tagged || !f.tagged) {
			return false
		}
	}
	return true
}

// appendFields appends the fields of a struct that lies base bytes from the start.
func appendFields(all []field, t reflect.Type, base uintptr, depth int) []field {
	for i := range t.NumField() {
		sf := t.Field(i)
		tag, tagged := sf.Tag.Lookup("usdt")
		if sf.Name == "_" || tag == "-" {
			continue
		}
		f := field{typ: sf.Type, offset: base + sf.Offset, goName: sf.Name, depth: depth}
		f.parseTag(tag)
		f.tagged = f.name != ""
		if sf.Anonymous && !f.tagged && promotes(sf.Type) {
			all = appendFields(all, sf.Type, f.offset, depth+1)
			continue
		}
		embedded := sf.Anonymous && sf.Type.Kind() == reflect.Pointer
		if sf.PkgPath != "" && !tagged && !embedded && !(hasValue(sf.PkgPath) && sf.Type.Kind() != reflect.Interface) {
			continue
		}
		if f.name == "" {
			f.name = sf.Name
		}
		all = append(all, f)
	}
	return all
}

// promotes reports whether the fields of an embedded struct are also fields of the struct around
// it. Those behind an embedded pointer have no place there.
func promotes(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t != textType && t != ipType && goWordsOf(t) == nil && !hasValue(t.PkgPath())
}

// hasValue reports whether structs of a package stand for a value that is not exported, as
// netip.AddrPort and atomic.Int64 do.
func hasValue(pkg string) bool { return pkg == "net/netip" || pkg == "sync/atomic" || pkg == "time" }

// parseTag reads a tag: a name, how bytes are shown, or both with a comma between them. A
// word that says how bytes are shown is a name where there are no bytes.
func (f *field) parseTag(tag string) {
	name, word, both := strings.Cut(tag, ",")
	shown := formOfWord(name)
	if !both && shown != formOfType && bytesIn(f.typ, false) {
		f.form = shown
		return
	}
	f.name = name
	if word == "" {
		return
	}
	switch f.form = formOfWord(word); {
	case f.form == formOfType:
		f.err = errorf("tag %q: behind the comma stands text, hex or bytes", tag)
	case !bytesIn(f.typ, true):
		f.err = errorf("tag %q: %s is for bytes, and the field is of type %v", tag, word, f.typ)
	}
}

func formOfWord(word string) form {
	switch word {
	case "text":
		return formText
	case "hex":
		return formHex
	case "bytes":
		return formBytes
	}
	return formOfType
}

// bytesIn reports whether t is bytes, or elements or pointers that lead to some. texts says
// that strings are bytes.
func bytesIn(t reflect.Type, texts bool) bool {
	for {
		switch t.Kind() {
		case reflect.String:
			return texts
		case reflect.Uint8:
			return false
		case reflect.Array, reflect.Slice:
			if t.Elem().Kind() == reflect.Uint8 {
				return true
			}
		case reflect.Pointer:
		default:
			return false
		}
		t = t.Elem()
	}
}
