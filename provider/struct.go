package provider

import (
	"reflect"
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
