package provider

import (
	"reflect"
	"unsafe"
)

// IP is an argument that tracers see as an IP address. [Addr] makes one of a
// netip.Addr:
//
//	accepted := provider.NewProbe1[provider.IP](myapp, "accepted", "peer")
//	accepted.Fire(provider.Addr(addr))
//
// The zero IP is that of the zero netip.Addr. Make a new IP for each Fire, as with
// a [Text]. A [StructProbe] has fields of type netip.Addr itself.
type IP struct {
	value unsafe.Pointer // points to the argument of bytes
	bytes func(unsafe.Pointer) (b [16]byte, n int)
}

var ipType = reflect.TypeFor[IP]()

// address is implemented by netip.Addr and by structs that embed one. The constraint
// lists methods, because a package that names netip.Addr makes each program link what
// package netip initializes, some 60 KB.
type address interface {
	Is4() bool
	Is6() bool
	As16() [16]byte
}

// Addr returns a, a netip.Addr, as an argument. Its bytes are read only while
// somebody watches. Tracers see an IPv4 address as 4 bytes, any other as 16, the zero
// Addr as none; its zone is left out.
func Addr[A address](a A) IP {
	escape(a)
	return IP{value: unsafe.Pointer(&a), bytes: addressBytes[A]}
}

// addressBytes returns the bytes of the A at p.
func addressBytes[A address](p unsafe.Pointer) (b [16]byte, n int) {
	// A tracer that attaches must not end the program.
	defer func() {
		if recover() != nil {
			n = 0
		}
	}()
	return bytesOf(*(*A)(p))
}

// bytesOf returns the bytes of an address in network order, and their number.
func bytesOf[A address](a A) (b [16]byte, n int) {
	switch b = a.As16(); {
	case a.Is4():
		copy(b[:], b[12:])
		clear(b[4:])
		return b, 4
	case a.Is6():
		return b, 16
	}
	return b, 0
}

// of returns the bytes of the address, and their number. The value must not have moved.
func (i *IP) of() (b [16]byte, n int) {
	if i.bytes == nil {
		return b, 0
	}
	return i.bytes(noescape(i.value))
}
