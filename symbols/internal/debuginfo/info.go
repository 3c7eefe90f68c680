package debuginfo

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-usdt/usdt/internal/safeelf"
	"github.com/go-usdt/usdt/symbols/internal/span"
)

// Limits on what is read, far above what compilers write.
const (
	maxUnits    = 1 << 18
	maxUnitSize = 256 << 20 // bytes
	maxRanges   = 1 << 20   // of all units, or of the functions of one
)

// Costs of a file's budget, in units of about a nanosecond.
const (
	costUnit  = 256
	costRange = 32
)

// Info is the debugging information of a file. Several goroutines may use it at once.
type Info struct {
	bo    binary.ByteOrder
	arch  elf.Machine
	units []unit // by offset
	index *span.Table
	alt   *Info // the file that several share parts in, nil if there is none
	held  int64

	types  *Info    // of .debug_types, nil if there is none
	whole  *Info    // of a .debug_types, the file's
	signed []uint32 // the numbers of units with types, by signature

	typed     sync.Once // whether units with types of a split file were read
	typeIndex []byte    // of a package, .debug_tu_index

	apart     bool              // it has units of which another file has skeletons
	skeletons map[int]*skeleton // by the numbers of their units
	splits    *Splits           // nil if nobody opens the files with their functions

	info, abbrev, line, str, lineStr, ranges, rnglists, addr, strOffsets, loc, loclists section

	spent atomic.Int64 // on variables

	mu     sync.Mutex
	shapes map[uint64]*abbrevs // some, by offset
	names  map[uint64]*name    // of some symbols, by offset in .debug_str
}

// unit is what is kept of each unit.
type unit struct {
	off, end  uint64 // in .debug_info
	abbrev    uint64
	header    uint32 // bytes before the first entry
	enc       encoding
	low       uint64
	lines     uint64 // noLines if it has none
	addrBase  uint64
	strBase   uint64
	rangeBase uint64
	locBase   uint64
	hasBase   bool   // whether rangeBase is known
	id        uint64 // of a skeleton, and of the unit with its functions; of a type, its signature
	typeOff   uint64 // the distance of a type's entry from the unit, 0 for other units
}

const noLines = ^uint64(0)

// New reads which units f has and what code each is about. It returns nil if there is
// no debugging information.
func New(f *safeelf.File) (*Info, error) {
	var types section
	d := &Info{bo: f.ByteOrder, arch: f.Machine, shapes: map[uint64]*abbrevs{}, names: map[uint64]*name{}, skeletons: map[int]*skeleton{}}
	for name, s := range map[string]*section{
		".debug_info": &d.info, ".debug_abbrev": &d.abbrev, ".debug_line": &d.line, ".debug_str": &d.str,
		".debug_line_str": &d.lineStr, ".debug_ranges": &d.ranges, ".debug_rnglists": &d.rnglists,
		".debug_addr": &d.addr, ".debug_str_offsets": &d.strOffsets,
		".debug_loc": &d.loc, ".debug_loclists": &d.loclists, ".debug_types": &types,
	} {
		var err error
		if *s, err = openSection(f, name); err != nil {
			return nil, err
		}
		d.held += s.held
	}
	if d.info.r == nil {
		return nil, nil
	}
	if err := d.readUnits(f); err != nil {
		return nil, fmt.Errorf("read section .debug_info: %w", err)
	}
	if types.r != nil {
		d.types = d.typesIn(types)
		if err := d.types.readUnits(f); err != nil {
			return nil, fmt.Errorf("read section .debug_types: %w", err)
		}
	}
	return d, nil
}

// SetAlt says which file has the parts that f shares with others (.gnu_debugaltlink).
func (d *Info) SetAlt(alt *Info) {
	d.alt = alt
	if d.types != nil {
		d.types.alt = alt
	}
}

// Size returns the number of bytes of memory that d takes, without its units.
func (d *Info) Size() int64 {
	if d == nil {
		return 0
	}
	return d.held + d.types.Size() + int64(cap(d.units))*152 + int64(cap(d.signed))*4 + int64(len(d.skeletons))*160 + d.index.Size() + maxShapes*16<<10 + maxDemangled*256
}

// readUnits reads the headers of units and the first entry of each.
func (d *Info) readUnits(f *safeelf.File) error {
	var spans []span.Span
	type first struct{ list, code uint64 }
	roots := map[first]*abbrevs{} // the shapes of first entries
	buf, scratch := make([]byte, 4<<10), make([]byte, 512)
	for off := uint64(0); off < d.info.size() && len(d.units) < maxUnits; {
		if err := f.Spend(costUnit); err != nil {
			return err
		}
		b := buffer{data: d.info.read(buf, off), bo: d.bo}
		u, ok := d.readHeader(&b, off)
		if u.end <= off || u.end > d.info.size() {
			break
		}
		off = u.end
		if !ok {
			continue
		}
		entry := buffer{data: b.data[:min(uint64(len(b.data)), u.end-u.off-uint64(u.header))], bo: d.bo}
		root := first{u.abbrev, entry.uleb()}
		shapes, ok := roots[root]
		if !ok {
			var used int
			shapes, used = d.readShapes(&u, root.code, scratch)
			if err := f.Spend(costUnit + uint64(used)); err != nil {
				return err
			}
			roots[root] = shapes
		}
		if shape := shapes.of(root.code); shape != nil {
			var err error
			if spans, err = d.readRoot(f, &u, shape, &entry, spans); err != nil {
				return err
			}
		}
		d.units = append(d.units, u)
	}
	d.units = slices.Clip(d.units)
	d.sign()
	d.index = span.New(spans)
	return nil
}

// readHeader decodes the header of the unit at off. ok is false if its version is not
// known.
func (d *Info) readHeader(b *buffer, off uint64) (u unit, ok bool) {
	const (
		compile, types, partial, skeleton, split, splitTypes = 1, 2, 3, 4, 5, 6
	)
	typ := uint8(compile)
	all := len(b.data)
	n, size := b.length()
	u = unit{off: off, lines: noLines}
	u.enc.offset = size
	if b.failed || n > 1<<62 {
		return u, false
	}
	u.end = off + uint64(all-len(b.data)) + n
	u.enc.version = b.u16()
	switch {
	case u.enc.version >= 2 && u.enc.version <= 4:
		u.abbrev = b.uint(size)
		u.enc.addr = int(b.u8())
		if d.whole != nil {
			typ = types
		}
	case u.enc.version == 5:
		typ = b.u8()
		u.enc.addr = int(b.u8())
		u.abbrev = b.uint(size)
	default:
		return u, false
	}
	switch typ {
	case compile, partial:
	case skeleton, split:
		u.id = b.u64()
	case types, splitTypes:
		u.id, u.typeOff = b.u64(), b.uint(size)
		if u.typeOff < uint64(all-len(b.data)) || u.typeOff >= u.end-off {
			return u, false
		}
	default:
		return u, false
	}
	u.header = uint32(all - len(b.data))
	return u, !b.failed && (u.enc.addr == 4 || u.enc.addr == 8) && off+uint64(u.header) <= u.end
}

// readRoot decodes the first entry of u, and appends the code that u is about.
func (d *Info) readRoot(f *safeelf.File, u *unit, shape *abbrev, b *buffer, spans []span.Span) ([]span.Span, error) {
	var low, high, ranges value
	var sk skeleton
	for i := range shape.specs {
		s := &shape.specs[i]
		v := u.enc.read(b, s)
		switch s.attr {
		case attrLowPC:
			low = v
		case attrHighPC:
			high = v
		case attrRanges:
			ranges = v
		case attrStmtList:
			u.lines = v.num
		case attrAddrBase:
			u.addrBase = v.num
		case attrStrOffsetsBase:
			u.strBase = v.num
		case attrLoclistsBase:
			u.locBase = v.num
		case attrRnglistsBase:
			u.rangeBase, u.hasBase = v.num, true
		case attrDwoName, attrGNUDwoName:
			sk.name = v
		case attrCompDir:
			sk.dir = v
		case attrGNUDwoID:
			u.id = v.num
		case attrGNURangesBase:
			sk.ranges = v.num
		case attrGNUAddrBase:
			u.addrBase = v.num
		}
	}
	if b.failed {
		return spans, nil
	}
	if u.typeOff > 0 {
		u.lines = noLines // another unit's, whose files the type's places are in
		return spans, nil
	}
	if low.form != 0 {
		u.low = d.address(u, low)
	}
	if sk.name.form != 0 {
		sk.id = u.id
		d.skeletons[len(d.units)] = &sk
	}
	id, limit := uint32(len(d.units)), maxRanges-len(spans)
	before := limit
	code := d.code(u, low, high, ranges, &limit)
	spans = slices.Grow(spans, len(code))
	for _, r := range code {
		// Neighbours are one.
		if n := len(spans); n > 0 && spans[n-1].ID == id && spans[n-1].High == r.low {
			spans[n-1].High = r.high
		} else {
			spans = append(spans, span.Span{Low: r.low, High: r.high, ID: id})
		}
	}
	return spans, f.Spend(costRange * uint64(before-limit))
}

// maxShapes is the number of lists of shapes that are kept beside the lists of loaded
// units.
const maxShapes = 64

// readShapes decodes the shapes of u's entries, with only ≠ 0 only that one. scratch is
// room for the first attempt, which often has enough.
func (d *Info) readShapes(u *unit, only uint64, scratch []byte) (*abbrevs, int) {
	for {
		data := d.abbrev.read(scratch, u.abbrev)
		a, used := readAbbrevs(data, d.bo, u.enc, only)
		if used < len(data) || len(data) < len(scratch) || len(data) >= maxAbbrevs {
			return a, used
		}
		scratch = make([]byte, min(16*len(scratch), maxAbbrevs))
	}
}

// shapesOf returns the shapes of u's entries.
func (d *Info) shapesOf(u *unit) *abbrevs {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := d.shapes[u.abbrev]
	if a == nil {
		a, _ = d.readShapes(u, 0, make([]byte, 16<<10))
		if len(d.shapes) >= maxShapes {
			for off := range d.shapes {
				delete(d.shapes, off)
				break
			}
		}
		d.shapes[u.abbrev] = a
	}
	return a
}

// unitAt returns the unit that has the entry at off, nil if there is none.
func (d *Info) unitAt(off uint64) *unit {
	i, ok := slices.BinarySearchFunc(d.units, off, func(u unit, off uint64) int {
		switch {
		case off < u.off:
			return 1
		case off >= u.end:
			return -1
		}
		return 0
	})
	if !ok || off < d.units[i].off+uint64(d.units[i].header) {
		return nil
	}
	return &d.units[i]
}

// Unit returns the number of the unit that is about the code at addr.
func (d *Info) Unit(addr uint64) (number int, ok bool) {
	if d == nil {
		return 0, false
	}
	id, ok := d.index.Find(addr)
	return int(id), ok
}
