package bind

import (
	"errors"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

var errNoTypes = errors.New("the object does not describe its arguments, and only described ones come through shared memory")

// bindLocal describes records that the process itself makes: they hold all of the
// argument block.
func (b *Binder) bindLocal(sc *Schema, s *site.Site) error {
	typ := s.Probe.Type
	if typ == nil {
		return errNoTypes
	}
	sc.local, sc.recorded = true, s.Recorded
	slot := func() int { return sc.Sig.Read(operand.Operand{}) }
	blocked := len(typ.Fields) > 0
	if blocked {
		if err := shape.CheckBlock(typ); err != nil {
			sc.unreadable(typ, err)
			blocked = false
		}
	}
	if blocked && typ.Record.Flags&notes.IPv4Register != 0 {
		sc.IPv4 = true
		slot()
	}
	sc.carrier = s.Carrier
	if s.Kept || b.Keep || b.Aggregate != nil && b.Aggregate.Pairs != nil && b.Aggregate.Pairs.Key == nil && s.Carrier == site.ByGoroutine {
		sc.Carrier = slot()
	}
	follow := b.followed(&s.Probe)
	if s.Kept {
		follow = nil
	}
	if blocked {
		sc.AddBlock(typ, follow)
	}
	return nil
}

// unreadable makes err the reason why no argument has a value.
func (s *Schema) unreadable(typ *reader.Type, err error) {
	for i := range typ.Fields {
		t := &typ.Fields[i]
		s.Fields = append(s.Fields, shape.Field{Name: t.Name, Kind: t.Kind, Size: uint8(t.Size), Err: err})
	}
}
