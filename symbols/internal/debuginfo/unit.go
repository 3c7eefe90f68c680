package debuginfo

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-usdt/usdt/symbols/internal/span"
)

// Unit is what debugging information says about the code of a compilation unit.
// Several goroutines may use it at once.
type Unit struct {
	info      *Info
	unit      *unit
	shapes    *abbrevs
	functions []function
	spans     *span.Table // of functions, the innermost
	lines     *lines
	held      int64

	mu    sync.Mutex
	names map[uint64]*name // of entries to which functions refer
	kept  atomic.Int64     // bytes of names
}

// function is a function, or one inlined into another.
type function struct {
	entry              uint32 // distance of the entry from the unit
	caller             int32  // the function into which it is inlined, -1 for none
	callFile, callLine uint32
	name               atomic.Pointer[name]
}

// Frame is a function that runs at an address.
type Frame struct {
	Func    string // demangled
	Symbol  string // the symbol that Func is made of, if any
	File    string
	Line    int
	Inlined bool // into the function of the next frame
}

// maxInlined is the depth of inlining that is followed.
const maxInlined = 256

var errUnit = errors.New("unit of debugging information is too large")

// Load reads the unit with the number.
func (d *Info) Load(number int) (*Unit, error) {
	out, data, comp, size, missing := d.openUnit(number)
	if out == nil {
		return nil, missing
	}
	b := buffer{data: data, bo: d.bo}
	comp = cmp.Or(out.readFunctions(&b), comp)
	var err error
	out.lines, err = d.readLines(&d.units[number], comp, number)
	err = cmp.Or(err, missing)
	out.held = out.spans.Size() + int64(32*cap(out.functions)) + out.shapes.size + size
	if out.lines != nil {
		out.held += out.lines.size()
	}
	return out, err
}

// openUnit returns the unit with the number, of which it reads only the entries, the directory in
// which the compiler ran, if the unit's skeleton names it, and the memory that the unit takes. With
// a unit, missing says why it lacks functions.
func (d *Info) openUnit(number int) (out *Unit, entries []byte, comp string, size int64, missing error) {
	u := &d.units[number]
	if u.end-u.off > maxUnitSize {
		return nil, nil, "", 0, errUnit
	}
	info, of := d, u
	if sk := d.skeletons[number]; sk != nil {
		comp = d.string(u, sk.dir)
		var split *Info
		var whole *unit
		if split, whole, size, missing = d.split(u, sk); split != nil {
			info, of = split, whole
		}
		if of.end-of.off > maxUnitSize {
			return nil, nil, "", 0, errUnit
		}
	}
	data := info.info.read(make([]byte, of.end-of.off), of.off)
	if len(data) < int(of.header) {
		return nil, nil, "", 0, errUnit
	}
	out = &Unit{info: info, unit: of, shapes: info.shapesOf(of), names: map[uint64]*name{}}
	return out, data[of.header:], comp, size, missing
}

// sizeFunction is the number of bytes of memory that the names of a unit take at most, for each function.
const sizeFunction = 128

// Size returns the number of bytes of memory that the unit takes and the names of its functions will take.
func (u *Unit) Size() int64 { return u.held + int64(sizeFunction*len(u.functions)) }

// readFunctions goes through the unit's entries, and returns the directory in which
// the compiler ran.
func (u *Unit) readFunctions(b *buffer) (comp string) {
	var (
		spans  []span.Span
		within []int32 // the function of each open entry, -1 for none
		limit  = maxRanges
		enc    = u.unit.enc
		whole  = u.unit.end - u.unit.off
	)
	for len(b.data) > 0 && !b.failed {
		off := whole - uint64(len(b.data))
		n := b.uleb()
		if n == 0 {
			if len(within) <= 1 {
				break
			}
			within = within[:len(within)-1]
			continue
		}
		shape := u.shapes.of(n)
		if shape == nil {
			break
		}
		current := int32(-1)
		if len(within) > 0 {
			current = within[len(within)-1]
		}
		switch {
		case shape.tag == tagSubprogram, shape.tag == tagInlinedSubroutine:
			fn := function{entry: uint32(off), caller: -1}
			var low, high, ranges value
			for i := range shape.specs {
				s := &shape.specs[i]
				switch v := enc.read(b, s); s.attr {
				case attrLowPC:
					low = v
				case attrHighPC:
					high = v
				case attrRanges:
					ranges = v
				case attrCallFile:
					fn.callFile = uint32(v.num)
				case attrCallLine:
					fn.callLine = uint32(v.num)
				}
			}
			if low.form == 0 && ranges.form == 0 {
				break
			}
			code := u.info.code(u.unit, low, high, ranges, &limit)
			if len(code) == 0 {
				break
			}
			rank := uint32(0)
			if shape.tag == tagInlinedSubroutine {
				fn.caller, rank = current, uint32(len(within))
			}
			current = int32(len(u.functions))
			for _, r := range code {
				spans = append(spans, span.Span{Low: r.low, High: r.high, Rank: rank, ID: uint32(current)})
			}
			u.functions = append(u.functions, function{entry: fn.entry, caller: fn.caller, callFile: fn.callFile, callLine: fn.callLine})
		case len(within) == 0:
			for i := range shape.specs {
				if v := enc.read(b, &shape.specs[i]); shape.specs[i].attr == attrCompDir {
					comp = u.info.string(u.unit, v)
				}
			}
		case shape.fixed >= 0:
			b.take(uint64(shape.fixed))
		default:
			for i := range shape.specs {
				enc.read(b, &shape.specs[i])
			}
		}
		if shape.children {
			within = append(within, current)
		} else if len(within) == 0 {
			break
		}
	}
	u.functions, u.spans = slices.Clip(u.functions), span.New(spans)
	return comp
}

// Append appends the functions that run at addr to dst, the innermost first. If only
// the line is known, it appends a frame without a function. It appends nothing if
// nothing is known.
func (u *Unit) Append(dst []Frame, addr uint64) []Frame {
	id, known := u.spans.Find(addr)
	number, line, ok := u.lines.at(addr)
	file := ""
	if ok {
		file = u.lines.path(number)
	}
	if !known {
		if !ok {
			return dst
		}
		return append(dst, Frame{File: file, Line: int(line)})
	}
	for range maxInlined {
		fn := &u.functions[id]
		n := u.name(fn)
		dst = append(dst, Frame{Func: n.text, Symbol: n.symbol, File: file, Line: int(line), Inlined: fn.caller >= 0})
		if fn.caller < 0 {
			break
		}
		file, line = "", fn.callLine
		if u.lines != nil {
			file = u.lines.path(fn.callFile)
		}
		id = uint32(fn.caller)
	}
	return dst
}
