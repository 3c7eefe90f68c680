package attach

import (
	"github.com/go-usdt/usdt/attach/internal/codegen"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// schema is what is read at a site, and how its records are decoded.
type schema struct {
	shape.Shape // of records by the Layout of sig
	sig         *codegen.Signature
}

func newSchema(sig *codegen.Signature) *schema {
	return &schema{shape.Shape{Layout: &sig.Layout}, sig}
}

// share has sites of equal signatures use one.
func (s *schema) share(sig *codegen.Signature) { s.sig, s.Layout = sig, &sig.Layout }

// kindOf is the kind of value that the note of an untyped probe declares.
func kindOf(a notes.Arg) reader.FieldKind {
	switch {
	case a.Float:
		return reader.Float
	case a.Signed:
		return reader.Int
	}
	return reader.Uint
}
