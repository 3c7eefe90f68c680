package tracefile

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// probe returns the probe that a description describes.
func (d *Site) probe() (*reader.Probe, error) {
	p := &d.Probe
	p.Provider, p.Name = shorten(p.Provider), shorten(p.Name)
	kind, ok := reader.ParseProbeKind(p.Kind)
	if !ok {
		return nil, fmt.Errorf("the kind of probe %q is unknown", p.Kind)
	}
	out := &reader.Probe{
		Note: notes.Note{Provider: p.Provider, Name: p.Name, Args: p.Args, Location: p.Location},
		Path: p.Path, BuildID: p.BuildID, Machine: elf.Machine(p.Machine), Class: elf.Class(p.Class), ByteOrder: binary.LittleEndian,
		Offset: p.Offset, Kind: kind, Live: &reader.Live{PID: d.PID},
	}
	if d.PID == 0 {
		out.Live = nil
	}
	if p.Typed {
		out.Type = &reader.Type{}
		for _, t := range p.Types {
			f := reader.Field{Name: t.Name, CType: t.C, Offset: t.Offset, Size: t.Size, LenOffset: t.Length}
			var err error
			if f.Kind, err = numberOf[reader.FieldKind](kinds, t.Kind, "the kind of argument"); err != nil {
				return nil, err
			}
			if f.Meaning, err = numberOf[reader.Meaning](meanings, t.Meaning, "the meaning"); err != nil {
				return nil, err
			}
			out.Type.Fields = append(out.Type.Fields, f)
		}
	}
	if fn := p.Function; fn != nil {
		out.Target = &reader.Function{Symbols: fn.Symbols, Path: p.Path, Address: fn.Address, Size: fn.Size}
	}
	if kind.InKernel() {
		out.Kernel = &reader.KernelFunction{}
	}
	if (out.Target != nil) != kind.InFile() {
		return nil, fmt.Errorf("a %v has no function, or a probe has one", kind)
	}
	return out, nil
}

// maxName is the largest text of a provider or a name, which each event repeats.
const maxName = 1 << 10

// shorten returns the beginning of a name that is too long.
func shorten(name string) string {
	if shape.NameText(name) <= maxName {
		return name
	}
	return strings.ToValidUTF8(name[:min(len(name), maxName/8)], "") + "..."
}

// Limits on layouts. A program's record has at most 32 KiB.
const (
	maxLimit    = 64 << 10
	maxIndirect = notes.MaxBlockSize
)

// layout returns the layout of records, checked: whoever reads a record of at least its
// fixed size by it stays in the record.
func (d *Layout) layout() (*record.Layout, error) {
	l := &record.Layout{Slots: d.Slots, Block: d.Block, Limit: d.Limit}
	switch {
	case d.Slots < 0 || d.Slots > record.MaxReads || d.Block > notes.MaxBlockSize:
		return nil, fmt.Errorf("records of %d slots and a block of %d bytes are too large", d.Slots, d.Block)
	case d.Limit < 0 || d.Limit > maxLimit:
		return nil, fmt.Errorf("%d bytes of a string are not between 0 and %d", d.Limit, maxLimit)
	case len(d.Indirects) > 0 && d.Block == 0:
		return nil, errors.New("pointers are followed without a block that has them")
	}
	for _, in := range d.Indirects {
		end := uint64(l.FixedSize() - l.BlockOffset())
		if uint64(in.Pointer)+8 > end || uint64(in.Length)+8 > end || in.Size > maxIndirect || end > maxIndirect {
			return nil, errors.New("a pointer is not in front of what it leads to")
		}
		l.AddIndirect(record.Indirect{Pointer: in.Pointer, Size: in.Size, Length: in.Length, Elem: in.Elem})
	}
	for _, s := range d.Strings {
		str := record.String(s)
		if err := checkString(l, &str); err != nil {
			return nil, err
		}
		l.Strings = append(l.Strings, str)
	}
	most := record.MaxBlockReads
	if d.Block == 0 {
		most = record.MaxReads
	}
	if l.Reads() > most {
		return nil, fmt.Errorf("records of %d reads are not possible", l.Reads())
	}
	if d.Stacks < 0 || d.Stacks > maxPlaces {
		return nil, fmt.Errorf("stacks of %d addresses are not possible", d.Stacks)
	}
	return l, nil
}

// checkString returns why a string cannot be in records of a layout whose fixed part is
// known.
func checkString(l *record.Layout, s *record.String) error {
	switch {
	case s.Sized && (l.Block == 0 || uint64(s.Length)+8 > uint64(l.FixedSize()-l.BlockOffset()) || s.Region < 0 || s.Region >= l.FirstString()):
	case !s.Sized && (s.Slot < 0 || s.Slot >= l.Slots || s.Elem != 0):
	case s.Counted && (s.Sized || s.LengthSlot < 0 || s.LengthSlot >= l.Slots || !isSize(int(s.LengthSize))):
	case s.Elem > notes.MaxBlockSize:
	default:
		return nil
	}
	return errors.New("a string lies outside of its record")
}

func isSize(n int) bool { return n == 1 || n == 2 || n == 4 || n == 8 }
