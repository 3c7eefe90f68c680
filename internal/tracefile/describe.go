package tracefile

import (
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/reader"
)

// Describe returns the description of a probe and of its records.
func Describe(p *reader.Probe, s *shape.Shape) *Site {
	out := &Site{
		Probe: describeProbe(p), Layout: describeLayout(s.Layout),
		Fields: describeFields(s.Fields), Unshown: describeFields(s.Unshown), Places: s.Places, Named: s.Named, IPv4: s.IPv4,
	}
	if p.Live != nil {
		out.PID = p.Live.PID
	}
	return out
}

func describeProbe(p *reader.Probe) Probe {
	out := Probe{
		Kind: p.Kind.String(), Provider: p.Provider, Name: p.Name, Args: p.ArgsText(), Path: p.Path, BuildID: p.BuildID,
		Machine: uint16(p.Machine), Class: uint8(p.Class), Location: p.Location, Offset: p.Offset, Go: p.IsGo(),
	}
	if p.Type != nil {
		out.Typed = true
		for i := range p.Type.Fields {
			f := &p.Type.Fields[i]
			out.Types = append(out.Types, Type{f.Name, f.CType, kinds[f.Kind], meanings[f.Meaning], f.Offset, f.Size, f.LenOffset})
		}
	}
	if fn := p.Target; fn != nil {
		out.Function = &Function{fn.Symbols, fn.Address, fn.Size}
	}
	return out
}

func describeLayout(l *record.Layout) Layout {
	out := Layout{Slots: l.Slots, Block: l.Block, Limit: l.Limit}
	for _, in := range l.Indirects {
		out.Indirects = append(out.Indirects, Indirect{in.Pointer, in.Size, in.Length, in.Elem})
	}
	for _, s := range l.Strings {
		out.Strings = append(out.Strings, String(s))
	}
	out.Stacks = l.Stack.Most - l.Stack.Own
	return out
}

func describeFields(fields []shape.Field) (out []Field) {
	for i := range fields {
		f := &fields[i]
		d := Field{
			Name: f.Name, From: sources[f.Source], Kind: kinds[f.Kind], Meaning: meanings[f.Meaning], Size: f.Size, Read: f.Read, Offset: f.Offset,
			Index: f.Index, Bits: f.Bits, Parts: describeFields(f.Parts), Count: f.Count, Stride: f.Stride, Strings: f.Strings,
			Whole: f.Whole, Length: f.Length, Counted: f.Counted, Wide: f.Wide,
		}
		if f.Err != nil {
			d.Err = f.Err.Error()
		}
		out = append(out, d)
	}
	return out
}
