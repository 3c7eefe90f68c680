package bindtest

import (
	"context"
	"debug/elf"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/prototype"
	"github.com/go-usdt/usdt/reader"
)

// Case is what is asked of probes. Its zero fields are what a session has that asks for
// nothing.
type Case struct {
	Name   string
	Probes []Probe
	Local  bool // the process records the events itself
	Binder bind.Binder

	Where   string
	Strings []string // as Options.Strings

	// Sums makes an aggregate of the events, and Start and End one of the times between them,
	// or pairs if Whole.
	Sums       *query.Computation
	Start, End string
	Key        []string
	Whole      bool
	Flat       bool // starts do not nest
}

// Probe is a probe of provider p.
type Probe struct {
	Name string
	Args string // as a note has them
	Type *reader.Type
	I386 bool
}

// Bound is what a session has of a case.
type Bound struct {
	Plan    site.Plan
	Schemas []*bind.Schema // nil of sites that are refused
	Layout  *bind.Layout   // nil if events are recorded
}

// Signatures returns the signatures of the sites that are not refused.
func (b *Bound) Signatures() (all []*query.Signature) {
	for _, sc := range b.Schemas {
		if sc != nil {
			all = append(all, sc.Sig)
		}
	}
	return all
}

// Bind binds what is asked.
func (c *Case) Bind() (*Bound, error) {
	b, out := c.Binder, &Bound{}
	b.Hook = query.Hook{Type: ebpf.Kprobe, Sleeps: true}
	if b.MaxString == 0 {
		b.MaxString = 128
	}
	var err error
	if b.Strings, err = bind.ParseStrings(c.Strings); err != nil {
		return nil, err
	}
	if c.Where != "" {
		if b.Condition, err = filter.Parse(c.Where); err != nil {
			return nil, err
		}
		b.Strings = append(b.Strings, bind.ConditionStrings(b.Condition)...)
	}
	if out.Layout, err = c.layout(); err != nil {
		return nil, err
	}
	if b.Aggregate = out.Layout; b.Aggregate != nil {
		b.Strings = append(b.Strings, bind.KeyStrings(out.Layout.Wanted.By)...)
		out.Layout.Stack = b.Stack
	}
	for i := range c.Probes {
		out.Plan = append(out.Plan, c.Probes[i].site(c.Local))
	}
	out.Schemas, err = bind.All(context.Background(), out.Plan, &b)
	return out, err
}

// layout returns the layout of the groups, nil if events are recorded.
func (c *Case) layout() (l *bind.Layout, err error) {
	if c.Sums == nil && c.Start == "" {
		return nil, nil
	}
	l = &bind.Layout{Layout: query.Layout{CPUs: 2}}
	if c.Sums != nil {
		l.Wanted = *c.Sums
	}
	if c.Start == "" {
		return l, nil
	}
	l.Value, l.Pairs = query.Elapsed, &bind.PairLayout{Whole: c.Whole, Flat: c.Flat}
	if l.Pairs.Key, err = bind.KeyNames(c.Key); err != nil {
		return nil, err
	}
	if l.Pairs.Start, err = selector.Parse(c.Start); err != nil {
		return nil, err
	}
	l.Pairs.End, err = selector.Parse(c.End)
	return l, err
}

func (p *Probe) site(local bool) site.Site {
	out := reader.Probe{
		Note:    notes.Note{Provider: "p", Name: p.Name, Args: p.Args},
		Machine: elf.EM_X86_64, Class: elf.ELFCLASS64, Type: p.Type, Path: "/none",
	}
	if p.I386 {
		out.Machine, out.Class = elf.EM_386, elf.ELFCLASS32
	}
	return site.Site{Report: site.Report{Probe: out, Path: out.Path, Local: local}}
}

// prototypes returns what a provider's declaration says.
func prototypes(declaration string) *prototype.Table {
	t, err := prototype.Parse("case", []byte(declaration))
	if err != nil {
		panic(err) // of a table here
	}
	return t
}
