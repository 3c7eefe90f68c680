package bind

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/attach/internal/argument"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/internal/tracepoint"
	"github.com/go-usdt/usdt/reader"
)

// bindTracepoint reads the fields of a tracepoint's record. Events hold all of them, or the ones in Options.Args.
func (b *Binder) bindTracepoint(sc *Schema, s *site.Site) {
	sc.Named = true
	p := &s.Probe
	all := &argument.Variables{All: b.asText(p), Err: p.Kernel.Err, Where: "a field of the event", Of: operand.OfField}
	behind, at := b.pointers(p)
	member := func(name string) bool { return strings.Contains(name, ".") && paramOf(behind, name) >= 0 }
	var shown, unshown []string
	for _, name := range b.Args.Names {
		if !slices.Contains(shown, name) && !member(name) {
			shown = append(shown, name)
		}
	}
	for i := range all.All {
		if f := &all.All[i]; b.Args.All && tracepoint.Shown(f) {
			shown = append(shown, f.Name)
		}
	}
	used := b.namesUsed()
	for i := range b.Strings {
		used = append(used, b.Strings[i].arg)
	}
	for _, name := range used {
		if all.Find(name) != nil && !slices.Contains(shown, name) && !slices.Contains(unshown, name) {
			unshown = append(unshown, name)
		}
	}
	sc.bindNamed(s, nil, all, shown, unshown)
	b.bindMembers(sc, behind, func(i int) (operand.Operand, error) { return operand.OfField(&at[i]) })
	for _, name := range b.Args.Names {
		if i := slices.IndexFunc(sc.Unshown, func(f shape.Field) bool { return f.Name == name }); i >= 0 && member(name) {
			sc.Fields, sc.Unshown = append(sc.Fields, sc.Unshown[i]), slices.Delete(sc.Unshown, i, i+1)
		}
	}
	for i := range b.Args.Casts {
		c := &b.Args.Casts[i]
		if paramOf(behind, c.Name) < 0 {
			continue // pointers has said why
		}
		var misfit error
		for j := range sc.Fields {
			if f := &sc.Fields[j]; f.Err != nil && c.Has(f.Name) {
				misfit = fmt.Errorf("%q: %w", c.Text, f.Err)
			}
		}
		b.Used.seeCast(i, misfit)
	}
}

// pointers returns the tracepoint as a function whose arguments are its pointers: with the types of its format,
// and by the names and types that Options.Args give them. at has the field of each.
func (b *Binder) pointers(p *reader.Probe) (behind *reader.Probe, at []reader.Variable) {
	kernel := reader.KernelTypes{Err: p.Kernel.Err}
	add := func(name, typ string, f *reader.Variable) {
		kernel.Params = append(kernel.Params, reader.KernelParam{Name: name, Type: typ, Size: 8, Pointer: true})
		at = append(at, *f)
	}
	for i := range p.Kernel.Fields {
		if f := &p.Kernel.Fields[i]; isPointer(f) {
			add(f.Name, f.Type, f)
		}
	}
	for i := range b.Args.Casts {
		c := &b.Args.Casts[i]
		f := argument.Find(p.Kernel.Fields, c.Arg)
		if f == nil || !isPointer(f) {
			b.Used.seeCast(i, fmt.Errorf("%q: %s has no pointer %s", c.Text, site.Name(p), c.Arg))
			continue
		}
		add(c.Name, strings.TrimSpace(c.Kind+" "+c.Type)+" *", f)
	}
	behind = &reader.Probe{Note: p.Note, Kind: p.Kind, Kernel: reader.NewKernelFunction(func() reader.KernelTypes { return kernel })}
	return behind, at
}

// asText returns the fields of a tracepoint, of which those are text that Options.Strings name.
func (b *Binder) asText(p *reader.Probe) []reader.Variable {
	all := slices.Clone(p.Kernel.Fields)
	for i := range b.Strings {
		t := &b.Strings[i]
		f := argument.Find(all, t.arg)
		if f != nil && !t.implied && isPointer(f) && (t.probes == nil || t.probes.Match(p.Path, p.Provider, p.Name)) {
			f.Kind, f.Length = reader.String, t.length
		}
	}
	return all
}

// isPointer reports whether a field is the address of something.
func isPointer(f *reader.Variable) bool {
	return strings.HasSuffix(f.Type, "*") && f.Size == 8 && f.Stride == 0
}
