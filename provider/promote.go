package provider

import (
	"reflect"
	"slices"
	"strings"
)

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

// promotes reports whether the fields of an embedded struct are those of the struct around
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
