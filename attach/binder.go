package attach

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cilium/ebpf/btf"

	"github.com/go-usdt/usdt/attach/internal/codegen"
	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// binder turns probes into signatures and schemas.
type binder struct {
	hook      codegen.Hook
	maxString int
	texts     []textArg
	follow    []string
	args      functionArgs
	where     *filter.Expr
	aggregate *aggregateLayout // nil to record events
	objects   operand.Objects
	used      *optionUse // nil if that is not asked
	forms     map[formKey]*schema
}

// formKey is what tells the argument forms of sites apart.
type formKey struct {
	path        string // symbols and fixed addresses are the object's
	kind        reader.ProbeKind
	convention  reader.Convention
	args        string
	types       *btf.Struct
	blockReg    uint8
	blockOffset int32
	blockSize   uint32
	flags       notes.TypeFlags
	role        codegen.Role
	carrier     site.Carrier
}

// bind returns how to record a firing of the site and how to decode the
// record. Arguments that cannot be read say why; the error is for a condition
// that does not fit the probe.
func (b *binder) bind(s *site.Site) (*schema, error) {
	p := &s.Probe
	key := formKey{path: s.Path, kind: p.Kind, args: p.Args, carrier: s.Carrier}
	if p.Target != nil {
		key.path, key.convention = "", p.Target.Convention
	}
	if p.Type != nil {
		rec := &p.Type.Record
		key.types, key.blockReg, key.blockOffset, key.blockSize = p.Type.Struct, rec.BlockReg, rec.BlockOffset, rec.BlockSize
		key.flags = rec.Flags
	}
	var err error
	if b.aggregate != nil {
		if key.role, err = b.aggregate.pairs.role(p); err != nil {
			return nil, err
		}
	}
	if sc := b.forms[key]; sc != nil {
		return sc, nil
	}
	sc, err := b.fields(s)
	if err != nil {
		return nil, err
	}
	b.used.see(sc, p)
	if err := b.bindWhere(sc, p); err != nil {
		return nil, err
	}
	if b.aggregate != nil {
		if err := b.aggregate.bind(sc, s, key.role); err != nil {
			return nil, err
		}
	}
	sc.sig.LimitStrings()
	ofSite := func(a notes.Arg) bool { return a.Symbol != "" }
	oneProbe := func(t textArg) bool { return t.probes != nil }
	ofProbe := func(name string) bool { return strings.Contains(name, ":") }
	if !slices.ContainsFunc(b.texts, oneProbe) && !slices.ContainsFunc(b.follow, ofProbe) && !slices.ContainsFunc(p.Arguments(), ofSite) {
		if b.forms == nil {
			b.forms = map[formKey]*schema{}
		}
		b.forms[key] = sc
	}
	return sc, nil
}

// fields returns what there is at the site, and what of it is read.
func (b *binder) fields(s *site.Site) (*schema, error) {
	p := &s.Probe
	regs, err := operand.HostRegisters(p.Machine, p.Class)
	if err != nil {
		return nil, err
	}
	sc := newSchema(&codegen.Signature{Layout: record.Layout{Limit: b.maxString}, Hook: b.hook})
	switch {
	case p.Target != nil:
		b.bindFunction(sc, s, regs)
	case p.Type != nil:
		b.bindTyped(sc, s, regs)
	default:
		b.bindNote(sc, s, regs)
	}
	return sc, nil
}

func (b *binder) bindWhere(sc *schema, p *reader.Probe) error {
	switch {
	case b.where == nil:
		return nil
	case b.aggregate != nil && b.aggregate.pairs != nil:
		return b.aggregate.pairs.bindWhere(b.where, sc, p)
	}
	return bindWhere(b.where, sc, p)
}

// bindRegisters reads the arguments of a typed probe from registers, if all are
// numbers there: cheaper than the block, which is in memory. The note's
// arguments are the block's first slots (FORMAT.md).
func (b *binder) bindRegisters(sc *schema, s *site.Site, regs *operand.Registers) bool {
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
	sig := *sc.sig
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
	*sc.sig, sc.Fields = sig, fields
	return true
}

// errTooMany is why an argument of a probe without types has no value.
var errTooMany = fmt.Errorf("more than %d arguments need a read of their own", record.MaxReads-1)

// bindNote reads the arguments of a probe that has only a note.
func (b *binder) bindNote(sc *schema, s *site.Site, regs *operand.Registers) {
	args := s.Probe.Arguments()
	for i, a := range args {
		sc.Fields = append(sc.Fields, shape.Field{Name: shape.ArgName(i), Kind: kindOf(a)})
	}
	b.bindArguments(sc, s, regs, args)
}

// bindArguments reads arguments, of which the fields tell name and kind.
func (b *binder) bindArguments(sc *schema, s *site.Site, regs *operand.Registers, args []notes.Arg) {
	p := &s.Probe
	obj, err := b.objects.Open(s.Path)
	if err != nil {
		obj = nil
	}
	// What symbols are measured against: the site as the note and the symbols
	// count addresses, and where the program is stopped.
	site, ipDelta := p.Location+p.Delta, int64(s.Offset-p.Offset)
	var texts []textField
	reads := 0 // of texts
	for i, a := range args {
		f := &sc.Fields[i]
		if low, high, ok := halvesOf(a, p.Class); ok {
			first, err := operand.Compile(low, regs, p.Machine, p.Class, obj, site, ipDelta)
			second, other := operand.Compile(high, regs, p.Machine, p.Class, obj, site, ipDelta)
			switch {
			case err != nil || other != nil:
				f.Err = cmp.Or(err, other)
			case sc.sig.Reads()+2+reads > record.MaxReads:
				f.Err = errTooMany
			default:
				sc.bindHalves(f, first, second)
			}
			continue
		}
		op, err := operand.Compile(a, regs, p.Machine, p.Class, obj, site, ipDelta)
		var text *textArg
		if err == nil {
			text = b.text(p, f.Name, &op, a.Float)
		}
		if text != nil && text.follow {
			op, err = op.Followed(text.offset)
		}
		switch {
		case err != nil:
			f.Err = err
		case a.Float && op.Size != 4 && op.Size != 8:
			f.Err = fmt.Errorf("a floating-point number of %d bytes is not known", op.Size)
		case op.Kind == operand.Const && text == nil:
			f.Source = shape.FromConstant
			f.Constant, _ = event.NumberValue(f.Kind, reader.Plain, op.Value, op.Size).Any()
			f.Bits = bitsOf(f.Constant)
		case sc.sig.Reads()+1+reads+text.reads() > record.MaxReads:
			f.Err = errTooMany
		default:
			f.Source, f.Size = shape.FromRecord, op.Size
			f.Read = sc.sig.Read(op)
			f.Offset = record.Slot(f.Read)
			if text != nil {
				texts = append(texts, textField{i, text})
				reads += text.reads()
			}
		}
	}
	sc.bindTexts(texts, func(name string) (operand.Operand, *notes.Arg) {
		a := lengthArg(p, name)
		if a != nil && p.Target != nil {
			b.args.retype(a, name)
		}
		if a != nil && a.Err == nil {
			if op, err := operand.Compile(*a, regs, p.Machine, p.Class, obj, site, ipDelta); err == nil {
				return op, a
			}
		}
		return operand.Operand{}, nil
	})
}
