package bind

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cilium/ebpf/btf"

	"github.com/go-usdt/usdt/attach/internal/argument"
	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/prototype"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/symbols"
)

// Binder turns probes into signatures and schemas.
type Binder struct {
	Hook query.Hook
	// KernelHook returns the hook at a function of the kernel; nil if programs read none.
	KernelHook func(*reader.Probe) query.Hook
	MaxString  int
	Strings    []StringArg
	Follow     []string
	Args       argument.Wanted
	Condition  *filter.Expr
	On         *filter.Expr // a condition that is tested here: records hold what it asks for
	Aggregate  *Layout      // nil to record events
	Objects    operand.Objects
	Sample     int // see query.Signature
	Signal     query.Signal
	Omit       query.Omit
	Stack      int        // addresses of the stack that records hold; 0 for no stack
	Unwind     bool       // whether records hold a copy of the stack instead
	Used       *OptionUse // nil if nobody asks
	// Recorded says that conditions and aggregations are computed from records, by
	// package tally: see Schema.Computed. For local sites that is so in any case.
	Recorded bool
	// Tests says that programs test the condition all the same.
	Tests bool
	// Keep says that records are for a file: they hold what anything may ask for later.
	Keep bool
	// Spanned says which probes are starts and ends that are matched here, by Keys: see
	// Layout.Matched. They need not fit the condition.
	Spanned func(*reader.Probe) bool
	Keys    []string
	// Prototypes has the names of arguments whose objects do not name them; nil for none.
	Prototypes *prototype.Table
	Groups     query.Groups // names control groups
	InEvents   bool         // events have that of their task
	// Types has names and types of functions' arguments; nil for none.
	Types     *discover.Types
	schemas   map[schemaKey]*Schema
	lastKey   schemaKey // of the last site, and last what schemas has for it: a thousand sites in a row may be alike
	last      *Schema
	castsSeen []*[]*discover.Cast
	callers   map[string]*symbols.Callers // by path, nil if they are not known
	tolerant  bool                        // see bindOthers
	complete  bool                        // schemas have their fields, see alike
	later     *Binder                     // which binds the fields that schemas lack
}

// schemaKey identifies the argument forms of a site.
type schemaKey struct {
	path        string // symbols and fixed addresses are the object's
	kind        reader.ProbeKind
	hook        query.Hook
	atRET       bool
	convention  reader.Convention
	args        string
	types       *btf.Struct
	blockReg    uint8
	blockOffset int32
	blockSize   uint32
	flags       notes.TypeFlags
	role        query.Role
	carrier     site.Carrier
	local       bool
	recorded    site.Recorded
	probe       string // if its arguments have names that the object does not have
	caller      caller
	source      *reader.Source // the variables are the site's own
	typed       *reader.Typed  // as are arguments of functions whose types are known
	casts       *[]*discover.Cast
	at          uint64 // if values depend on where the site is in its file
	tolerant    bool
}

// bind returns how to record a firing of the site and how to decode the
// record. Arguments that cannot be read say why; bind returns an error if the
// condition does not fit the probe.
func (b *Binder) bind(s *site.Site) (*Schema, error) {
	p := &s.Probe
	if text := shape.NameText(p.Provider) + shape.NameText(p.Name); text > shape.MostNames {
		return nil, fmt.Errorf("its name, which each event would repeat, takes %d bytes of text: more than %d", text, shape.MostNames)
	}
	key := schemaKey{path: s.Path, kind: p.Kind, atRET: p.AtRET, args: p.Args, carrier: s.Carrier, local: s.Local, recorded: s.Recorded, tolerant: b.tolerant, caller: b.callerOf(s), source: p.Source, casts: b.castTypes(p)}
	if p.Target != nil {
		key.path, key.convention = "", p.Target.Convention
	}
	if b.typed(p) != nil {
		key.typed = p.Target.Typed
	}
	if relative(p) {
		key.at = p.Location
	}
	if p.Type != nil {
		rec := &p.Type.Record
		key.types, key.blockReg, key.blockOffset, key.blockSize = p.Type.Struct, rec.BlockReg, rec.BlockOffset, rec.BlockSize
		key.flags = rec.Flags
	}
	if p.Kind.InKernel() && b.KernelHook != nil {
		key.hook = b.KernelHook(p)
	}
	form := b.formOf(p)
	switch {
	case b.leavesKernel(p):
		key.args = ""
	case form != "":
		key.args = form
	case p.Kernel != nil:
		key.args, key.probe = p.ArgsText(), kernelKey(p)
	case b.known(p) != nil:
		key.probe = p.Provider + ":" + p.Name
	}
	var err error
	if b.Aggregate != nil {
		if key.role, err = b.Aggregate.Pairs.role(p); err != nil {
			return nil, err
		}
	}
	if key != b.lastKey {
		b.lastKey, b.last = key, b.schemas[key]
	}
	if sc := b.last; sc != nil && s.Saved == nil {
		if form != "" {
			return b.alike(sc, s), nil
		}
		return sc, nil
	}
	sc, err := b.fields(s)
	if err != nil {
		return nil, err
	}
	if b.tolerant || b.Spanned != nil && b.Spanned(p) {
		sc.lacking = &lacking{arguments: map[string]error{}}
	}
	if sc.saved {
		b.Used.see(sc, p)
		return b.bindSaved(sc, s, key.role)
	}
	if key.role == query.RoleStart && b.Aggregate.Whole() && sc.Sig.Stack.Copied > 0 {
		sc.Sig.Stack = record.Stack{} // the record that a start keeps is too small for a copy of a stack
	}
	b.Used.see(sc, p)
	if !s.Local && b.Aggregate == nil {
		sc.Sig.Sample, sc.Sig.Signal, sc.Sig.Omit = b.Sample, b.Signal, b.Omit
	}
	if err := b.bindCondition(sc, p); err != nil {
		return nil, err
	}
	if regs, err := registersOf(p); err == nil && (sc.Sig.Condition != nil || b.Aggregate != nil) && b.attaches(s) {
		sc.Sig.IP = regs.IP
	}
	if b.Aggregate != nil {
		if err := b.Aggregate.bind(sc, s, key.role); err != nil {
			return nil, err
		}
		if !b.Aggregate.Whole() && sc.Sig.Aggregate.StackPart() == nil {
			sc.Sig.DropTail()
		}
	}
	if b.attaches(s) && !(b.Aggregate != nil && b.Aggregate.Whole()) {
		regs, err := registersOf(p)
		if err != nil {
			return nil, err
		}
		sc.useRegisters(p, regs)
		if b.Aggregate != nil {
			sc.Sig.DropUnneeded()
		}
	}
	sc.Sig.LimitStrings()
	ofSite := func(a notes.Arg) bool { return a.Symbol != "" }
	oneProbe := func(t StringArg) bool { return t.probes != nil }
	ofProbe := func(name string) bool { return strings.Contains(name, ":") }
	if !slices.ContainsFunc(b.Strings, oneProbe) && !slices.ContainsFunc(b.Follow, ofProbe) && (p.Kind.InKernel() || !slices.ContainsFunc(p.Arguments(), ofSite) && len(b.Prototypes.Variables(p.Provider, p.Name)) == 0) {
		if b.schemas == nil {
			b.schemas = map[schemaKey]*Schema{}
		}
		b.schemas[key], b.lastKey, b.last = sc, key, sc
	}
	return sc, nil
}

// relative reports whether some value at a site becomes an address in the file.
func relative(p *reader.Probe) bool {
	is := func(v reader.Variable) bool { return v.Relative }
	return slices.ContainsFunc(p.Casts, is) ||
		p.Target != nil && p.Target.Typed != nil && (slices.ContainsFunc(p.Target.Typed.Arguments, is) || slices.ContainsFunc(p.Target.Typed.Results, is))
}

// registersOf returns where programs find the registers at a site.
func registersOf(p *reader.Probe) (*operand.Registers, error) {
	if p.Kind.ByTrampoline() {
		return operand.Saved()
	}
	return operand.HostRegisters(p.Machine, p.Class)
}

// attaches reports whether a program computes the condition and the aggregation.
func (b *Binder) attaches(s *site.Site) bool { return !b.Recorded && !s.Local }

// fields returns the arguments of the site that events have room for, and how they are read.
func (b *Binder) fields(s *site.Site) (*Schema, error) {
	sc, err := b.arguments(s)
	if sc != nil {
		sc.groups = b.Groups
		sc.Bound(shape.NameText(s.Probe.Provider) + shape.NameText(s.Probe.Name))
	}
	return sc, err
}

func (b *Binder) arguments(s *site.Site) (*Schema, error) {
	if s.Saved != nil {
		return b.saved(s), nil
	}
	p := &s.Probe
	regs, err := registersOf(p)
	if err != nil {
		return nil, err
	}
	sc := NewSchema(&query.Signature{Layout: record.Layout{Limit: b.MaxString}, Hook: b.Hook})
	if p.Kind.InKernel() {
		sc.Sig.Hook = query.Hook{}
		if b.KernelHook != nil {
			sc.Sig.Hook = b.KernelHook(p)
		}
	}
	switch {
	case b.leavesKernel(p):
	case p.Kind.HasFields():
		b.bindTracepoint(sc, s)
	case p.Kind.InKernel():
		b.bindKernel(sc, s, regs)
	case s.Local:
		err := b.bindLocal(sc, s)
		b.bindStack(sc, s, regs)
		return sc, err
	case p.Source != nil:
		b.bindVariables(sc, s, regs)
	case p.Target != nil:
		b.bindFunction(sc, s, regs)
	case p.Type != nil:
		b.bindTyped(sc, s, regs)
	default:
		b.bindNote(sc, s, regs)
	}
	if !p.Kind.InKernel() && p.Type == nil {
		b.bindCasts(sc, s, regs)
	}
	b.recordCarrier(sc, s, regs)
	b.recordTask(sc)
	b.bindStack(sc, s, regs)
	return sc, nil
}

func (b *Binder) bindCondition(sc *Schema, p *reader.Probe) error {
	switch {
	case b.Condition == nil:
		return nil
	case b.Aggregate != nil && b.Aggregate.Pairs != nil:
		return b.Aggregate.Pairs.bindCondition(b.Condition, sc, p)
	}
	err := bindCondition(b.Condition, sc, p)
	if err != nil && sc.lackCondition(err) {
		return nil
	}
	return err
}
