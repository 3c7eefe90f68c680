package attach

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cilium/ebpf/btf"
	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// binder turns probes into signatures and schemas.
type binder struct {
	hook      hook
	maxString uint32
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
	role        pairRole
	carrier     carrier
}

// bind returns how to record a firing of the site and how to decode the
// record. Arguments that cannot be read say why; the error is for a condition
// that does not fit the probe.
func (b *binder) bind(s *Site) (*schema, error) {
	p := &s.Probe
	key := formKey{path: s.Path, kind: p.Kind, args: p.Args, carrier: s.carrier}
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
	if len(sc.sig.Strings) == 0 {
		sc.sig.maxString = 0 // does not tell signatures apart
	}
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
func (b *binder) fields(s *Site) (*schema, error) {
	p := &s.Probe
	regs, err := operand.HostRegisters(p.Machine, p.Class)
	if err != nil {
		return nil, err
	}
	sc := &schema{sig: &signature{hook: b.hook, maxString: b.maxString}}
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
func (b *binder) bindRegisters(sc *schema, s *Site, regs *operand.Registers) bool {
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
	var fields []field
	for i, a := range args {
		t := &p.Type.Fields[i]
		op, err := operand.Compile(a, regs, p.Machine, p.Class, nil, 0, 0)
		if err != nil {
			return false
		}
		slot := sig.read(op)
		fields = append(fields, field{
			name: t.Name, source: fromRecord, kind: t.Kind, meaning: t.Meaning, size: uint8(t.Size),
			offset: record.Slot(slot), read: slot,
		})
	}
	*sc.sig, sc.fields = sig, fields
	return true
}

// Why an argument of a typed probe has no value.
var (
	errNoBlock      = errors.New("the object does not say where the argument block is")
	errTooMany      = fmt.Errorf("more than %d arguments need a read of their own", record.MaxReads-1)
	errTooManyParts = fmt.Errorf("more than %d strings, slices and pointers need a read of their own", record.MaxBlockReads-1)
	errTooDeep      = errors.New("it lies behind more than one pointer without a fixed place")
)

// bindNote reads the arguments of a probe that has only a note.
func (b *binder) bindNote(sc *schema, s *Site, regs *operand.Registers) {
	args := s.Probe.Arguments()
	for i, a := range args {
		sc.fields = append(sc.fields, field{name: argName(i), kind: kindOf(a)})
	}
	b.bindArguments(sc, s, regs, args)
}

// bindArguments reads arguments, of which the fields tell name and kind.
func (b *binder) bindArguments(sc *schema, s *Site, regs *operand.Registers, args []notes.Arg) {
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
		f := &sc.fields[i]
		if low, high, ok := halvesOf(a, p.Class); ok {
			first, err := operand.Compile(low, regs, p.Machine, p.Class, obj, site, ipDelta)
			second, other := operand.Compile(high, regs, p.Machine, p.Class, obj, site, ipDelta)
			switch {
			case err != nil || other != nil:
				f.err = cmp.Or(err, other)
			case sc.sig.Reads()+2+reads > record.MaxReads:
				f.err = errTooMany
			default:
				sc.bindHalves(f, first, second)
			}
			continue
		}
		op, err := operand.Compile(a, regs, p.Machine, p.Class, obj, site, ipDelta)
		var text *textArg
		if err == nil {
			text = b.text(p, f.name, &op, a.Float)
		}
		if text != nil && text.follow {
			op, err = op.Followed(text.offset)
		}
		switch {
		case err != nil:
			f.err = err
		case a.Float && op.Size != 4 && op.Size != 8:
			f.err = fmt.Errorf("a floating-point number of %d bytes is not known", op.Size)
		case op.Kind == operand.Const && text == nil:
			f.source = fromConstant
			f.value, _ = event.NumberValue(f.kind, reader.Plain, op.Value, op.Size).Any()
		case sc.sig.Reads()+1+reads+text.reads() > record.MaxReads:
			f.err = errTooMany
		default:
			f.source, f.size = fromRecord, op.Size
			f.read = sc.sig.read(op)
			f.offset = record.Slot(f.read)
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
