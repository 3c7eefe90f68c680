package attach

import (
	"path"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// bindTyped reads the argument block.
func (b *binder) bindTyped(sc *schema, s *site.Site, regs *operand.Registers) {
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
		for i := range typ.Fields {
			t := &typ.Fields[i]
			sc.Fields = append(sc.Fields, shape.Field{Name: t.Name, Kind: t.Kind, Size: uint8(t.Size), Err: err})
		}
		return
	}
	if rec.Flags&notes.IPv4Register != 0 {
		sc.IPv4 = true
		sc.sig.Read(operand.Operand{Kind: operand.Register, Size: 8, Base: regs.Argument})
	}
	sc.sig.BlockBase, sc.sig.BlockDisp = base, rec.BlockOffset
	sc.AddBlock(typ, b.followed(&s.Probe))
}

// followed returns which pointers of a probe are followed: those that Options.Follow
// names, and those behind which lies what is looked at.
func (b *binder) followed(p *reader.Probe) shape.Follow {
	var through []string
	for _, name := range b.looked() {
		through = append(through, shape.Pointers(name, p.Type.Fields)...)
	}
	return func(path string) (exact, ok bool) {
		exact, ok = b.follows(p, path)
		return exact || slices.Contains(through, path), ok
	}
}

// follows says whether Options.Follow names the pointer, in full or by a pattern.
func (b *binder) follows(p *reader.Probe, pointer string) (exact, ok bool) {
	for n, pattern := range b.follow {
		if i := strings.LastIndexByte(pattern, ':'); i >= 0 {
			if pattern[:i] != site.Name(p) {
				continue
			}
			pattern = pattern[i+1:]
		}
		if match, err := path.Match(slashed(pattern), slashed(pointer)); pattern == pointer || match && err == nil {
			ok = true
			if b.used != nil {
				b.used.usesFollow[n] = true
			}
		}
		if pattern == pointer {
			return true, true
		}
	}
	return false, ok
}

// slashed has path.Match keep '*' within a name.
func slashed(path string) string { return strings.ReplaceAll(path, ".", "/") }

// looked returns what the condition and the aggregation look at: names of arguments
// and paths of what lies in them, among others.
func (b *binder) looked() (names []string) {
	if b.where != nil {
		names = b.where.Names()
	}
	if b.aggregate != nil {
		names = append(append(names, b.aggregate.wanted.by...), b.aggregate.wanted.value)
		if b.aggregate.pairs != nil {
			names = append(names, b.aggregate.pairs.key...)
		}
	}
	return names
}
