package bind

import (
	"sync"

	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/reader"
)

// formOf returns the form of a function of the kernel if that alone decides what programs read there: events
// hold all of its arguments, and nobody asks for one by its name. Otherwise it is empty.
func (b *Binder) formOf(p *reader.Probe) string {
	switch {
	case b.complete || b.tolerant || p.Kernel == nil || p.Kernel.Form == nil:
		return ""
	case b.Aggregate != nil || b.Condition != nil || b.On != nil || b.Recorded || b.Keep || b.Spanned != nil || len(b.Keys) > 0:
		return ""
	case len(b.Args.Names) > 0 || len(b.Args.Types) > 0 || len(b.Args.Casts) > 0 || len(b.Strings) > 0 || len(b.Follow) > 0:
		return ""
	}
	return p.Kernel.Form()
}

// alike returns the schema of another site, a function of the form of sc's. Programs read the same there. How
// records are decoded is decided when the first one is: a thousand functions are described for a few that
// are called.
func (b *Binder) alike(sc *Schema, s *site.Site) *Schema {
	if b.later == nil {
		later := *b
		later.complete, later.Objects, later.Types, later.Used = true, nil, nil, nil
		later.schemas, later.castsSeen, later.callers, later.later = nil, nil, nil, nil
		later.lastKey, later.last = schemaKey{}, nil
		b.later = &later
	}
	out, later := *sc, b.later
	out.Fields, out.Unshown, out.Places, out.enums, out.units = nil, nil, nil, nil, nil
	out.withFields = sync.OnceValue(func() *Schema {
		b := *later // binding keeps what it has bound
		full, err := b.bind(s)
		if err != nil { // what is read was bound, and its names cannot fail
			return &out
		}
		full.share(out.Sig)
		return full
	})
	return &out
}

// WithFields returns the schema with its fields, for whoever decodes records.
func (s *Schema) WithFields() *Schema {
	if s.withFields != nil {
		return s.withFields()
	}
	return s
}
