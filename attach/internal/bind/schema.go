package bind

import (
	"github.com/go-usdt/usdt/attach/internal/codegen"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// Schema is what is read at a site, and how its records are decoded.
type Schema struct {
	shape.Shape // of records by the Layout of Sig
	Sig         *codegen.Signature
}

// NewSchema returns a schema that reads nothing yet.
func NewSchema(sig *codegen.Signature) *Schema {
	return &Schema{shape.Shape{Layout: &sig.Layout}, sig}
}

// share makes the schema use sig, an equal signature of another site.
func (s *Schema) share(sig *codegen.Signature) { s.Sig, s.Layout = sig, &sig.Layout }

// kindOf returns the kind of value that the note of an untyped probe declares.
func kindOf(a notes.Arg) reader.FieldKind {
	switch {
	case a.Float:
		return reader.Float
	case a.Signed:
		return reader.Int
	}
	return reader.Uint
}
