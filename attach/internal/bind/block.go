package bind

import (
	"path"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// bindTyped reads the argument block.
func (b *Binder) bindTyped(sc *Schema, s *site.Site, regs *operand.Registers) {
	typ := s.Probe.Type
	rec := &typ.Record
	if len(typ.Fields) == 0 || b.bindRegisters(sc, s, regs) {
		return
	}
	var base operand.Location
	err := shape.CheckBlock(typ)
	if err == nil {
		base, err = regs.LocateDWARF(int(rec.BlockReg))
	}
	if err != nil {
		sc.unreadable(typ, err)
		return
	}
	if rec.Flags&notes.IPv4Register != 0 {
		sc.IPv4 = true
		sc.Sig.Read(operand.Operand{Kind: operand.Register, Size: 8, Base: regs.Argument})
	}
	b.recordCarrier(sc, s, regs)
	b.recordTask(sc)
	sc.Sig.BlockBase, sc.Sig.BlockDisp = base, rec.BlockOffset
	sc.AddBlock(typ, b.followed(&s.Probe))
}

// followed returns which pointers of a probe are followed: the pointers that Options.Follow
// names, and the pointers that lead to what conditions and aggregations use.
func (b *Binder) followed(p *reader.Probe) shape.Follow {
	var through []string
	for _, name := range b.namesUsed() {
		through = append(through, shape.Pointers(name, p.Type.Fields)...)
	}
	return func(path string) (exact, ok bool) {
		exact, ok = b.follows(p, path)
		return exact || slices.Contains(through, path), ok
	}
}

// follows reports whether Options.Follow names the pointer, in full or by a
// pattern.
func (b *Binder) follows(p *reader.Probe, pointer string) (exact, ok bool) {
	for n, pattern := range b.Follow {
		if i := strings.LastIndexByte(pattern, ':'); i >= 0 {
			if pattern[:i] != site.Name(p) {
				continue
			}
			pattern = pattern[i+1:]
		}
		if match, err := path.Match(Slashed(pattern), Slashed(pointer)); pattern == pointer || match && err == nil {
			ok = true
			if b.Used != nil {
				b.Used.usesFollow[n] = true
			}
		}
		if pattern == pointer {
			return true, true
		}
	}
	return false, ok
}

// Slashed replaces dots by slashes, so that path.Match keeps '*' within a name.
func Slashed(path string) string { return strings.ReplaceAll(path, ".", "/") }

// namesUsed returns the names that the condition and the aggregation use: arguments
// and paths into them, among others.
func (b *Binder) namesUsed() (names []string) {
	if b.Condition != nil {
		names = b.Condition.Names()
	}
	if b.On != nil {
		names = append(names, b.On.Names()...)
	}
	if b.Aggregate != nil {
		for _, key := range b.Aggregate.Wanted.By {
			names = append(names, query.NamesOf(key)...)
		}
		names = append(names, b.Aggregate.Wanted.Value)
		if b.Aggregate.Pairs != nil {
			for _, key := range b.Aggregate.Pairs.Key {
				names = append(names, query.NamesOf(key)...)
			}
		}
	}
	for _, key := range b.Keys {
		names = append(names, query.NamesOf(key)...)
	}
	return names
}

// bindRegisters reads the arguments of a typed probe from registers, if all are
// numbers there: cheaper than the block, which is in memory. The note's
// arguments are the block's first slots (FORMAT.md).
func (b *Binder) bindRegisters(sc *Schema, s *site.Site, regs *operand.Registers) bool {
	p := &s.Probe
	args := p.Arguments()
	if len(p.Type.Fields) != len(args) || len(args) >= record.MaxReads {
		return false
	}
	for i, a := range args {
		t := &p.Type.Fields[i]
		if t.Kind == reader.String || t.Kind == reader.Bytes || t.Kind == reader.Other ||
			a.Kind != notes.Reg || a.Err != nil || uint32(a.Size) != t.Size {
			return false
		}
	}
	sig := *sc.Sig
	var fields []shape.Field
	for i, a := range args {
		t := &p.Type.Fields[i]
		op, err := operand.Compile(a, regs, p.Machine, p.Class, nil, 0, 0)
		if err != nil {
			return false
		}
		slot := sig.Read(op)
		fields = append(fields, shape.Field{
			Name: t.Name, Source: shape.FromRecord, Kind: t.Kind, Meaning: t.Meaning, Size: uint8(t.Size),
			Offset: record.Slot(slot), Read: slot,
		})
	}
	*sc.Sig, sc.Fields = sig, fields
	return true
}
