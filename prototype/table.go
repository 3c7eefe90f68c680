package prototype

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/go-usdt/usdt/notes"
)

// Table has the prototypes of probes. The nil Table has none. Any number of
// goroutines may use a Table.
type Table struct {
	probes    map[probe][]Prototype
	silent    []silence
	dangers   []danger
	says      []saying
	looks     []look
	variables []variable
	lines     []*Prototype // in their order, for Prototypes
	over      *Table       // has what this one lacks; nil if nothing does
	// provider returns the table of a provider, of Known's table; nil of others. Programs
	// that do not call Known do not contain its files.
	provider func(name string) *Table
}

type probe struct{ provider, name string }

// With returns a table of the prototypes of both. If other has lines for a probe,
// the lines of t for it are left out.
func (t *Table) With(other *Table) *Table {
	switch {
	case other == nil:
		return t
	case t == nil:
		return other
	}
	return &Table{probes: other.probes, silent: other.silent, dangers: other.dangers, says: other.says, looks: other.looks, variables: other.variables, lines: other.lines, provider: other.provider, over: chain(other.over, t)}
}

func chain(t, below *Table) *Table {
	if t == nil {
		return below
	}
	return below.With(t)
}

// Lookup returns the names of the arguments that a probe has by its note, nil if none
// is known. An argument in which the prototypes that fit do not agree has no name.
func (t *Table) Lookup(provider, name string, args []notes.Arg, class notes.Class) *Prototype {
	all := t.Of(provider, name)
	var fit *Prototype
	for i := range all {
		p := &all[i]
		if !p.fits(args, class) {
			continue
		}
		if fit == nil {
			fit = p
		} else {
			fit = fit.common(p)
		}
	}
	if fit == nil || !slices.ContainsFunc(fit.Params, func(a Param) bool { return a.Name != "" }) {
		return nil
	}
	return fit
}

// Of returns the prototypes of a probe, one for each form that versions of its program
// pass.
func (t *Table) Of(provider, name string) []Prototype {
	for ; t != nil; t = t.over {
		if all := t.of(provider).probes[probe{provider, name}]; len(all) > 0 {
			return all
		}
	}
	return nil
}

// of returns the table itself that has a provider's lines.
func (t *Table) of(provider string) *Table {
	if t.provider == nil {
		return t
	}
	if known := t.provider(provider); known != nil {
		return known
	}
	return &Table{}
}

// Prototypes returns the table's own prototypes in their order. It leaves out
// Known's, and the prototypes of the table on which [Table.With] has put this one.
func (t *Table) Prototypes() []*Prototype {
	if t == nil {
		return nil
	}
	return t.lines
}

// Misfit says why a probe with these arguments cannot be the one that p describes, "" if it can.
func (p *Prototype) Misfit(args []notes.Arg, class notes.Class) string {
	if p.fits(args, class) {
		return ""
	}
	i := p.misfit(args, class)
	if i < 0 {
		return fmt.Sprintf("the probe has %d arguments", len(args))
	}
	return fmt.Sprintf("argument %d, %s, is passed in another size or form: %s", i, cmp.Or(p.Params[i].Name, "without a name"), args[i].Text)
}

// fits reports whether a probe with these arguments can be the one that p describes.
func (p *Prototype) fits(args []notes.Arg, class notes.Class) bool {
	return len(args) >= len(p.Params) && (len(args) == len(p.Params) || p.More) && p.misfit(args, class) < 0
}

// misfit returns the first argument that p describes in another form, -1 if there is none.
func (p *Prototype) misfit(args []notes.Arg, class notes.Class) int {
	for i := range min(len(p.Params), len(args)) {
		if !p.Params[i].passed.fits(&args[i], class) {
			return i
		}
	}
	return -1
}

// common returns a prototype with what p and q agree in.
func (p *Prototype) common(q *Prototype) *Prototype {
	out := *p
	out.Params = slices.Clone(p.Params[:min(len(p.Params), len(q.Params))])
	out.More = p.More || q.More || len(p.Params) != len(q.Params)
	for i := range out.Params {
		if !p.agrees(q, i) {
			out.Params[i] = Param{Length: -1, passed: out.Params[i].passed}
		}
	}
	// Text needs its length.
	for i := range out.Params {
		a := &out.Params[i]
		if a.Length >= 0 && (a.Length >= len(out.Params) || out.Params[a.Length].Name == "") {
			*a = Param{Length: -1, passed: a.passed}
		}
	}
	return &out
}

// agrees reports whether p and q say the same of argument i, except for the size and sign of an
// integer, which the note has.
func (p *Prototype) agrees(q *Prototype, i int) bool {
	a, b := p.Params[i], q.Params[i]
	if a.isInteger() && b.isInteger() {
		a.Kind, a.Type, a.Size = b.Kind, b.Type, b.Size
	}
	a.passed, b.passed = passing{}, passing{}
	return a == b
}

func (a *Param) isInteger() bool {
	return a.Kind == Signed || a.Kind == Unsigned || a.Kind == Integer
}
