package bind

import (
	"slices"
	"strings"

	"github.com/go-usdt/usdt/attach/internal/argument"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/tracepoint"
	"github.com/go-usdt/usdt/reader"
)

// bindTracepoint reads the fields of a tracepoint's record. Events hold all, or those of Options.Args.
func (b *Binder) bindTracepoint(sc *Schema, s *site.Site) {
	sc.Named = true
	p := &s.Probe
	all := &argument.Variables{All: b.asText(p), Err: p.Kernel.Err, Where: "a field of the event", Of: operand.OfField}
	var shown, unshown []string
	for _, name := range b.Args.Names {
		if !slices.Contains(shown, name) {
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
