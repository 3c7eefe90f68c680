package tracefile

import (
	"errors"
	"fmt"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// maxFields is the largest number of values of all sites of a file, parts of values
// included.
const maxFields = 1 << 20

// fieldReader checks fields against the layout of their records.
type fieldReader struct {
	layout *record.Layout
	ipv4   bool
	left   *int // of maxFields
}

// region is where the values of fields may lie: bytes of a record, or of an element, and
// strings.
type region struct {
	from, to int // bytes
	strings  int // how many strings may follow the index of a field, for elements that repeat
	element  bool
	repeated bool // of an array
	depth    int
}

var errOutside = errors.New("an argument lies outside of its record")

// shape returns the shape of a description, checked: whoever decodes a record that has its
// fixed part by it stays in the record.
func (d *Site) shape(fields *int) (*shape.Shape, error) {
	l, err := d.Layout.layout()
	if err != nil {
		return nil, err
	}
	s := &shape.Shape{Layout: l, Places: d.Places, Named: d.Named, IPv4: d.IPv4}
	if d.IPv4 && l.Slots == 0 {
		return nil, errOutside
	}
	r := fieldReader{layout: l, ipv4: d.IPv4, left: fields}
	whole := region{from: record.HeaderSize, to: l.FixedSize()}
	if s.Fields, err = r.fields(d.Fields, whole); err == nil {
		s.Unshown, err = r.fields(d.Unshown, whole)
	}
	s.Bound(shape.NameText(d.Probe.Provider) + shape.NameText(d.Probe.Name))
	return s, err
}

func (r *fieldReader) fields(all []Field, in region) (out []shape.Field, err error) {
	if *r.left -= len(all); *r.left < 0 || in.depth > notes.MaxNesting+2 {
		return nil, fmt.Errorf("sites have more than %d values, or they are nested too deep", maxFields)
	}
	for i := range all {
		f, err := r.field(&all[i], in)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

func (r *fieldReader) field(d *Field, in region) (f shape.Field, err error) {
	f = shape.Field{
		Name: d.Name, Size: d.Size, Read: d.Read, Offset: d.Offset, Index: d.Index, Bits: d.Bits, Count: d.Count,
		Stride: d.Stride, Strings: d.Strings, Whole: d.Whole, Length: d.Length, Counted: d.Counted, Wide: d.Wide,
	}
	if f.Source, err = numberOf[shape.Source](sources, d.From, "the source of a value"); err != nil {
		return f, err
	}
	if f.Kind, err = numberOf[reader.FieldKind](kinds, d.Kind, "the kind of value"); err != nil {
		return f, err
	}
	if f.Meaning, err = numberOf[reader.Meaning](meanings, d.Meaning, "the meaning of a value"); err != nil {
		return f, err
	}
	if d.Err != "" {
		f.Err = errors.New(d.Err)
	}
	if f.Read < 0 || f.Read >= record.MaxBlockReads || f.Counted < 0 || f.Counted >= record.MaxBlockReads {
		return f, errOutside
	}
	return f, r.check(&f, d, in)
}

// check checks the place of a field, and reads its parts.
func (r *fieldReader) check(f *shape.Field, d *Field, in region) (err error) {
	inside := func(size int) bool {
		return size >= 0 && f.Offset >= in.from && f.Offset <= in.to && size <= in.to-f.Offset
	}
	inner := in
	inner.depth++
	ok := true
	switch f.Source {
	case shape.FromNowhere:
		if f.Err == nil {
			f.Err = errors.New("it could not be read")
		}
	case shape.FromConstant:
		if ok = f.Kind != 0 && f.Kind < reader.String; ok {
			f.Constant, _ = event.NumberValue(f.Kind, f.Meaning, f.Bits, 8).Any()
		}
	case shape.FromRecord:
		ok = isSize(int(f.Size)) && inside(int(f.Size))
	case shape.FromRaw, shape.FromChars:
		ok = inside(f.Count)
	case shape.FromGoTime:
		ok = inside(2 * 8)
	case shape.FromGoAddr:
		ok = inside(notes.GoWords) && r.ipv4
	case shape.FromString, shape.FromSlice:
		ok = !in.element && f.Index >= 0 && f.Index+in.strings < len(r.layout.Strings)
		if ok && f.Source == shape.FromSlice {
			ok = f.Stride > 0 && f.Stride == int(r.layout.Strings[f.Index].Elem) && len(d.Parts) == 1
			inner = region{to: f.Stride, element: true, depth: in.depth + 1}
		}
	case shape.FromStruct:
	case shape.FromPointer:
		ok = inside(8) && len(d.Parts) == 1 && !in.element && !in.repeated
		inner.from, inner.to = record.HeaderSize, r.layout.FixedSize()
	case shape.FromCounted, shape.FromArray:
		ok = (f.Count > 0 || f.Count == 0 && f.Source == shape.FromArray) && f.Stride > 0 && f.Count <= notes.MaxBlockSize && f.Stride <= notes.MaxBlockSize && inside(f.Count*f.Stride) &&
			len(d.Parts) == 1 && f.Strings >= 0 && f.Strings <= len(r.layout.Strings) && f.Whole >= 0 && f.Whole <= f.Count
		if ok && f.Source == shape.FromCounted {
			ok = f.Length >= record.HeaderSize && f.Length <= r.layout.FixedSize()-8 && !in.element
		}
		inner.from, inner.to, inner.repeated = f.Offset, f.Offset+f.Stride, true
		inner.strings += max(0, f.Whole-1) * f.Strings
	default:
		ok = false
	}
	if !ok {
		return errOutside
	}
	f.Parts, err = r.fields(d.Parts, inner)
	return err
}
