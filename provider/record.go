package provider

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/go-usdt/usdt/internal/stub"
)

// Record is a probe whose arguments are the fields of a struct. Make one with
// NewRecord.
type Record[T any] struct {
	sem stub.Semaphore
	probe
}

// NewRecord declares a probe in a provider or group whose arguments are the
// fields of the struct type T, named as there or by a tag `usdt:"name"`; fields
// tagged `usdt:"-"` and blank ones are left out.
//
// Fields may have any type of [Arg], and be structs, arrays, slices and
// pointers. Typed readers see all of them, and what pointers and slices point
// to, as they lie in memory, and know a [time.Duration], [time.Time] and [netip.Addr]
// wherever they come upon one, and types defined from the latter two; a
// [netip.AddrPort] or [netip.Prefix] is a struct of an address and a number. A [Text]
// is made where it lies in the record itself, structs and arrays in it included, not
// behind pointers and in slices. Other tracers see the first twelve numbers, pointers and
// lengths. Maps, channels, functions, interfaces and complex numbers are
// refused, and so is what tracers cannot read: structs of more than 15 KiB, 4,096
// fields or 16 levels. Load reports what is wrong
// with the declaration.
//
//go:noinline
func NewRecord[T any](in Scope, name string) *Record[T] {
	pr := new(Record[T])
	declare(in, &pr.probe, &pr.sem, name, func(p *Provider) (*signature, error) {
		return p.recordSignature(reflect.TypeFor[T]())
	})
	return pr
}

// Enabled reports whether somebody watches the probe.
func (p *Record[T]) Enabled() bool { return p.sem.Active() }

// Fire passes the record to attached tracers. It copies nothing, unless there is a
// [Text] in it: tracers read r where it lies, before Fire returns. They see a nil r
// as arguments that cannot be read.
func (p *Record[T]) Fire(r *T) {
	if p.sem.Active() {
		p.fire(r)
	}
}

//go:noinline
func (p *Record[T]) fire(r *T) {
	if r != nil && len(p.sig.texts) > 0 {
		p.fireTexts(r)
		return
	}
	p.callAt(unsafe.Pointer(r))
}

// fireTexts fires a copy of the record, in which what texts were made of is replaced by
// them.
//
//go:noinline
func (p *Record[T]) fireTexts(r *T) {
	made := *r
	p.sig.makeTexts(noescape(unsafe.Pointer(&made)))
	p.callAt(unsafe.Pointer(&made))
}

// recordSignature returns the signature for records of type t, the same one
// for equal fields. The provider is locked.
func (p *Provider) recordSignature(t reflect.Type) (*signature, error) {
	if r, ok := p.records[t]; ok {
		return r.sig, r.err
	}
	sig, err := newRecordSignature(t)
	if err != nil {
		sig, err = nil, fmt.Errorf("record %v: %w", t, err)
	} else if s := p.signatures[sig.key]; s != nil {
		sig = s
	} else {
		p.signatures[sig.key] = sig
	}
	p.records[t] = recordSignature{sig, err}
	return sig, err
}

type recordSignature struct {
	sig *signature
	err error
}
