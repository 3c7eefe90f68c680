package usdtreceiver

import (
	"encoding/binary"
	"fmt"
	"math"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/symbols"
)

// dictionary has the texts, functions and stacks of profiles once each. The first entry of each table
// stands for none: opentelemetry/proto/profiles/v1development/profiles.proto, ProfilesDictionary.
type dictionary struct {
	to         pprofile.ProfilesDictionary
	texts      map[string]int32
	functions  map[function]int32
	mappings   map[[2]string]int32 // by path and build-id
	locations  map[location]int32
	stacks     map[string]int32 // by the numbers of their locations
	attributes map[string]int32
	frames     []symbols.Frame
}

// function is one of a name in a file.
type function struct{ name, symbol, file string }

// location identifies an address, whatever process it is in.
type location struct {
	module, id string
	offset     uint64
	inner      function
	line       int
}

func newDictionary(to pprofile.ProfilesDictionary) *dictionary {
	to.StringTable().Append("")
	to.MappingTable().AppendEmpty()
	to.LocationTable().AppendEmpty()
	to.FunctionTable().AppendEmpty()
	to.LinkTable().AppendEmpty()
	to.AttributeTable().AppendEmpty()
	to.StackTable().AppendEmpty()
	return &dictionary{to: to, texts: map[string]int32{"": 0}, functions: map[function]int32{}, mappings: map[[2]string]int32{}, locations: map[location]int32{}, stacks: map[string]int32{}, attributes: map[string]int32{}}
}

// entry returns the number of what has a key, which add adds if it is new.
func entry[K comparable](known map[K]int32, key K, add func() (length int)) int32 {
	n, ok := known[key]
	if !ok {
		n = int32(add() - 1) // there are at most as many as groups have frames
		known[key] = n
	}
	return n
}

func (d *dictionary) text(s string) int32 {
	return entry(d.texts, s, func() int {
		d.to.StringTable().Append(utf8(s))
		return d.to.StringTable().Len()
	})
}

// attribute returns the number of a key with its value.
func (d *dictionary) attribute(key *event.Arg) int32 {
	return entry(d.attributes, fmt.Sprintf("%s %T %v", key.Name, key.Value, key.Value), func() int {
		name := d.text(key.Name)
		a := d.to.AttributeTable().AppendEmpty()
		a.SetKeyStrindex(name)
		if key.Value == nil && key.Err != nil {
			a.Value().SetStr(utf8("(" + key.Err.Error() + ")"))
		} else {
			set(a.Value(), key.Value)
		}
		return d.to.AttributeTable().Len()
	})
}

// stand returns a stack of one function, which stands for stacks that are not known.
func (d *dictionary) stand(name string) int32 {
	return d.calls([]symbols.Frame{{Func: name}})
}

// unknown is the function of events whose stack cannot be read.
const unknown = "[unknown]"

// stackOf returns the number of the stack in a key.
func (d *dictionary) stackOf(key any) int32 {
	s, ok := key.(*event.Stack)
	if !ok {
		return d.stand(unknown)
	}
	if d.frames = s.AppendMarked(d.frames[:0]); len(d.frames) == 0 {
		return d.stand(unknown)
	}
	return d.calls(d.frames)
}

// calls returns the number of a stack, the innermost frame first.
func (d *dictionary) calls(frames []symbols.Frame) int32 {
	var all []int32
	var key []byte
	for len(frames) > 0 {
		n := 1 // frames at this address
		for n < len(frames) && frames[n-1].Inlined {
			n++
		}
		l := d.location(frames[:n])
		all, key, frames = append(all, l), binary.AppendUvarint(key, uint64(l)), frames[n:]
	}
	return entry(d.stacks, string(key), func() int {
		d.to.StackTable().AppendEmpty().LocationIndices().FromRaw(all)
		return d.to.StackTable().Len()
	})
}

// location returns the number of the functions that run at an address. Files have the place 0, so that
// addresses are offsets in them, and the same in all processes. The kernel has its addresses.
func (d *dictionary) location(frames []symbols.Frame) int32 {
	f := &frames[0]
	return entry(d.locations, location{f.Module, f.BuildID, f.Offset, functionOf(f), f.Line}, func() int {
		l := pprofile.NewLocation()
		l.SetAddress(f.Address)
		switch {
		case f.Module != "" && f.Kernel():
			l.SetMappingIndex(d.mapping(f, 1<<63, math.MaxUint64))
		case f.Module != "":
			l.SetMappingIndex(d.mapping(f, 0, math.MaxInt64))
			l.SetAddress(f.Offset)
		}
		for i := range frames {
			line := l.Lines().AppendEmpty()
			line.SetFunctionIndex(d.function(functionOf(&frames[i])))
			line.SetLine(int64(frames[i].Line))
		}
		l.MoveTo(d.to.LocationTable().AppendEmpty())
		return d.to.LocationTable().Len()
	})
}

func functionOf(f *symbols.Frame) function { return function{f.Name(), f.Symbol, f.File} }

func (d *dictionary) function(of function) int32 {
	return entry(d.functions, of, func() int {
		f := d.to.FunctionTable().AppendEmpty()
		f.SetNameStrindex(d.text(of.name))
		f.SetSystemNameStrindex(d.text(of.symbol))
		f.SetFilenameStrindex(d.text(of.file))
		return d.to.FunctionTable().Len()
	})
}

// buildID is the attribute of mappings by the semantic conventions: process.executable.build_id.gnu.
const buildID = "process.executable.build_id.gnu"

func (d *dictionary) mapping(f *symbols.Frame, start, limit uint64) int32 {
	return entry(d.mappings, [2]string{f.Module, f.BuildID}, func() int {
		m := pprofile.NewMapping()
		m.SetMemoryStart(start)
		m.SetMemoryLimit(limit)
		m.SetFilenameStrindex(d.text(f.Module))
		if f.BuildID != "" {
			m.AttributeIndices().Append(d.attribute(&event.Arg{Name: buildID, Value: f.BuildID}))
		}
		m.MoveTo(d.to.MappingTable().AppendEmpty())
		return d.to.MappingTable().Len()
	})
}
