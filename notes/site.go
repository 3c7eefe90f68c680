package notes

import (
	"bytes"
	"encoding/binary"
)

// SiteKind is the shape of the instructions at a probe site.
type SiteKind uint8

// FORMAT.md lists the values.
const (
	SiteOther    SiteKind = iota // anything else, or not known
	SiteNop                      // the architecture's plain nop
	SiteNop5                     // x86-64: 0f 1f 44 00 00
	SiteNop10                    // x86-64: 66 2e 0f 1f 84 00 00 00 00 00
	SiteNopNop5                  // x86-64: nop, then nop5
	SiteNopNop10                 // x86-64: nop, then nop10
)

func (k SiteKind) String() string {
	if k > SiteNopNop10 {
		k = SiteOther
	}
	return [...]string{"other", "nop", "nop5", "nop10", "nop+nop5", "nop+nop10"}[k]
}

// Double reports whether a site of this kind is two instructions.
func (k SiteKind) Double() bool { return k == SiteNopNop5 || k == SiteNopNop10 }

// SiteKindOf returns the kind of the site that code, of machine m, begins with. order
// is the byte order of the object's data.
func SiteKindOf(m Machine, order binary.ByteOrder, code []byte) SiteKind {
	if g := grammarOf(m); g != nil {
		return g.site(order, code)
	}
	return SiteOther
}

// nop is the code of a nop in an architecture of fixed-size instructions.
type nop struct {
	size int
	code uint32
}

// nopAmong returns SiteNop if code begins with one of nops.
func nopAmong(order binary.ByteOrder, code []byte, nops ...nop) SiteKind {
	for _, n := range nops {
		switch {
		case len(code) < n.size:
		case n.size == 2 && uint32(order.Uint16(code)) == n.code,
			n.size == 4 && order.Uint32(code) == n.code:
			return SiteNop
		}
	}
	return SiteOther
}

// AMD64 returns the code of a site of this kind on x86-64, nil for SiteOther.
func (k SiteKind) AMD64() []byte {
	if k > SiteNopNop10 {
		return nil
	}
	return bytes.Clone(amd64Sites[k])
}
