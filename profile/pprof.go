package profile

import (
	"io"
	"math"
	"time"

	"github.com/google/pprof/profile"

	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/symbols"
)

// WritePprof writes the profile for pprof. Labels distinguish samples that have the same
// stack.
func (p *Profile) WritePprof(w io.Writer) error {
	took := p.ended.Sub(p.began)
	if p.ended.IsZero() {
		took = time.Since(p.began)
	}
	out := &profile.Profile{TimeNanos: p.began.UnixNano(), DurationNanos: int64(took), DefaultSampleType: p.values[p.shown].Type}
	for _, v := range p.values {
		out.SampleType = append(out.SampleType, &profile.ValueType{Type: v.Type, Unit: v.Unit})
	}
	b := builder{out: out, mappings: map[[2]string]*profile.Mapping{}, functions: map[[2]string]*profile.Function{}}
	for _, c := range p.all {
		b.location(c)
	}
	for _, s := range p.sorted() {
		sample := &profile.Sample{Value: s.values, Label: map[string][]string{}, NumLabel: map[string][]int64{}, NumUnit: map[string][]string{}}
		for _, c := range s.stack {
			sample.Location = append(sample.Location, out.Location[c.number-1])
		}
		for _, t := range s.texts {
			sample.Label[valid(t.name)] = []string{valid(t.value)}
		}
		for _, n := range s.numbers {
			sample.NumLabel[valid(n.name)] = []int64{n.value}
			if n.unit != "" {
				sample.NumUnit[valid(n.name)] = []string{n.unit}
			}
		}
		out.Sample = append(out.Sample, sample)
	}
	return out.Write(w)
}

// builder makes the tables of a pprof profile.
type builder struct {
	out       *profile.Profile
	mappings  map[[2]string]*profile.Mapping // by path and build-id
	functions map[[2]string]*profile.Function
}

// location adds the calls at an address. Files have the place 0, so that addresses are
// offsets in them, and the same in all processes. The kernel has its addresses.
func (b *builder) location(c *calls) {
	f := &c.frames[0]
	l := &profile.Location{ID: uint64(c.number), Address: f.Address}
	switch {
	case f.Module != "" && f.Kernel():
		l.Mapping = b.mapping(f.Module, f.BuildID)
		l.Mapping.Start, l.Mapping.Limit = 1<<63, math.MaxUint64
	case f.Module != "":
		l.Mapping, l.Address = b.mapping(f.Module, f.BuildID), f.Offset
	}
	for i := range c.frames {
		f := &c.frames[i]
		l.Line = append(l.Line, profile.Line{Function: b.function(f), Line: int64(f.Line)})
	}
	b.out.Location = append(b.out.Location, l)
}

func (b *builder) mapping(path, id string) *profile.Mapping {
	m := b.mappings[[2]string{path, id}]
	if m == nil {
		m = &profile.Mapping{
			ID: uint64(len(b.out.Mapping) + 1), Limit: math.MaxInt64, File: valid(path), BuildID: id,
			HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true,
		}
		b.mappings[[2]string{path, id}] = m
		b.out.Mapping = append(b.out.Mapping, m)
	}
	return m
}

func (b *builder) function(frame *symbols.Frame) *profile.Function {
	name, file := frame.Name(), frame.File
	f := b.functions[[2]string{name, file}]
	if f == nil {
		// A SystemName that equals the name would have pprof take template arguments out of it
		// (internal/symbolizer, demangleSingleFunction).
		f = &profile.Function{ID: uint64(len(b.out.Function) + 1), Name: valid(name), SystemName: valid(frame.Symbol), Filename: valid(file)}
		b.functions[[2]string{name, file}] = f
		b.out.Function = append(b.out.Function, f)
	}
	return f
}

// valid returns text that protobuf, and terminals, take.
func valid(s string) string { return printable.String(s) }
