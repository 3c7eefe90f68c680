package debuginfo

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// Types that many units have may be in units of their own, which other units refer to by a
// signature (-fdebug-types-section): in .debug_types before DWARF 5 (DWARF 4, section 3.1.3), and
// in .debug_info since (DWARF 5, section 3.1.4). With -gsplit-dwarf they are in the files with the
// functions.

// typesIn returns what d's units are to units with types in a section beside them, which are not yet read.
func (d *Info) typesIn(types section) *Info {
	return &Info{
		bo: d.bo, arch: d.arch, whole: d, shapes: map[uint64]*abbrevs{}, names: map[uint64]*name{},
		skeletons: map[int]*skeleton{}, held: types.held,
		info: types, abbrev: d.abbrev, str: d.str, strOffsets: d.strOffsets,
	}
}

// sign orders the units with types by their signatures.
func (d *Info) sign() {
	for n := range d.units {
		if d.units[n].typeOff > 0 {
			d.signed = append(d.signed, uint32(n))
		}
	}
	slices.SortStableFunc(d.signed, func(a, b uint32) int { return cmp.Compare(d.units[a].id, d.units[b].id) })
}

// typeUnit returns the unit with the type of a signature, nil if there is none.
func (d *Info) typeUnit(signature uint64) (*Info, *unit) {
	for _, in := range d.withTypes() {
		i, ok := slices.BinarySearchFunc(in.signed, signature, func(n uint32, s uint64) int { return cmp.Compare(in.units[n].id, s) })
		if ok {
			return in, &in.units[in.signed[i]]
		}
	}
	return nil, nil
}

// withTypes returns what has units with types.
func (d *Info) withTypes() []*Info {
	if d.whole != nil {
		d = d.whole
	}
	if d.apart {
		d.typed.Do(func() { d.readTypes() })
	}
	if d.types != nil {
		return []*Info{d, d.types}
	}
	return []*Info{d}
}

// readTypes reads the headers of units with types in a file of split units, or in a package of them.
func (d *Info) readTypes() {
	at := contributions{}
	in := d
	if d.types != nil {
		in = d.types
	}
	buf := make([]byte, 64)
	next := func(at contributions) (end uint64) {
		b := buffer{data: in.info.read(buf, at.info), bo: d.bo}
		u, ok := in.readHeader(&b, at.info)
		if u.end <= at.info || u.end > in.info.size() {
			return 0
		}
		if ok && u.typeOff > 0 {
			u.place(at)
			in.units = append(in.units, u)
		}
		return u.end
	}
	if d.typeIndex != nil {
		for _, at := range units(d.typeIndex, d.bo) {
			next(at)
		}
		slices.SortFunc(in.units, func(a, b unit) int { return cmp.Compare(a.off, b.off) })
	} else {
		for at.info < in.info.size() && len(in.units) < maxUnits {
			if at.info = next(at); at.info == 0 {
				break
			}
		}
	}
	in.sign()
}

// table is the index of a package (DWARF 5, section 7.3.5.3).
type table struct {
	version             uint32
	columns, units      uint64
	hashes, rows, cells buffer
	ids                 []uint32
}

// readTable decodes an index.
func readTable(data []byte, bo binary.ByteOrder) (t table, ok bool) {
	b := buffer{data: data, bo: bo}
	t.version = b.u32() & 0xffff // 16 bits since DWARF 5, and as many that are 0
	t.columns, t.units = uint64(b.u32()), uint64(b.u32())
	slots := uint64(b.u32())
	if b.failed || t.columns > 16 || slots*12+(1+2*t.units)*t.columns*4 > uint64(len(b.data)) {
		return t, false
	}
	t.hashes, t.rows = buffer{data: b.take(8 * slots), bo: bo}, buffer{data: b.take(4 * slots), bo: bo}
	for range t.columns {
		t.ids = append(t.ids, b.u32())
	}
	t.cells = b
	return t, true
}

// row returns where the parts of the unit of a row, counted from 1, begin.
func (t *table) row(n uint64) (at contributions) {
	b := t.cells
	b.take(4 * t.columns * (n - 1))
	for _, id := range t.ids {
		switch off := uint64(b.u32()); {
		case id == 1, id == 2: // .debug_info.dwo, and .debug_types.dwo
			at.info = off
		case id == 3:
			at.abbrev = off
		case id == 6:
			at.strings = off
		case id == 8 && t.version >= 5:
			at.ranges = off
		case id == 5:
			at.locations = off
		}
	}
	return at
}

// units returns where the parts of all units of an index begin.
func units(data []byte, bo binary.ByteOrder) (all []contributions) {
	t, ok := readTable(data, bo)
	for n := uint64(1); ok && n <= min(t.units, maxUnits); n++ {
		all = append(all, t.row(n))
	}
	return all
}
