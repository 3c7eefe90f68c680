package provider

import (
	"reflect"
	"unsafe"
)

// Hex is an argument, or a field of a [StructProbe], whose bytes tracers show as hexadecimal
// digits: an identifier. Arrays of bytes are shown so by themselves.
type Hex []byte

// UTF8 is an argument, or a field of a [StructProbe], whose bytes are text.
type UTF8 []byte

// Array is the set of arrays of bytes that can be arguments. Longer ones are passed as
// a[:], or as Hex(a[:]).
type Array interface {
	~[0]byte | ~[1]byte | ~[2]byte | ~[3]byte | ~[4]byte | ~[5]byte | ~[6]byte | ~[7]byte |
		~[8]byte | ~[9]byte | ~[10]byte | ~[11]byte | ~[12]byte | ~[13]byte | ~[14]byte | ~[15]byte |
		~[16]byte | ~[17]byte | ~[18]byte | ~[19]byte | ~[20]byte | ~[21]byte | ~[22]byte | ~[23]byte |
		~[24]byte | ~[25]byte | ~[26]byte | ~[27]byte | ~[28]byte | ~[29]byte | ~[30]byte | ~[31]byte |
		~[32]byte | ~[33]byte | ~[34]byte | ~[35]byte | ~[36]byte | ~[37]byte | ~[38]byte | ~[39]byte |
		~[40]byte | ~[41]byte | ~[42]byte | ~[43]byte | ~[44]byte | ~[45]byte | ~[46]byte | ~[47]byte |
		~[48]byte | ~[49]byte | ~[50]byte | ~[51]byte | ~[52]byte | ~[53]byte | ~[54]byte | ~[55]byte |
		~[56]byte | ~[57]byte | ~[58]byte | ~[59]byte | ~[60]byte | ~[61]byte | ~[62]byte | ~[63]byte |
		~[64]byte
}

// form is how bytes are shown.
type form uint8

const (
	formOfType  form = iota // arrays as digits, slices as they are
	formHex                 // digits
	formBytes               // as they are
	formText                // text
	formAddress             // an IP address, of which IPv4 ones may have 16 bytes
)

// formOfName returns the form of a slice of bytes by the type's name: variables for Hex and
// UTF8 would have the linker keep their types.
func formOfName(t reflect.Type) form {
	switch pkg := t.PkgPath(); {
	case pkg == "encoding/json" || pkg == "encoding/json/jsontext":
		return formText
	case pkg == "net" && t.Name() == "IP":
		return formAddress
	case pkg == "net" || pkg == textType.PkgPath() && t.Name() == "Hex": // HardwareAddr, IPMask
		return formHex
	case pkg == textType.PkgPath(): // UTF8
		return formText
	}
	return formOfType
}

// unmapped returns the bytes of a net.IP, 4 if it is an IPv4 address.
func unmapped(ip []byte) []byte {
	if len(ip) == 16 && string(ip[:12]) == "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff" {
		return ip[12:]
	}
	if len(ip) != 4 && len(ip) != 16 {
		return nil // no address, as netip.Addr's zero value
	}
	return ip
}

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
