package debuginfo

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/go-usdt/usdt/internal/safeelf"
)

// With -gsplit-dwarf, a file has skeletons of units: their code and lines, and where the rest
// is, a file of its own (.dwo) or a package of them (.dwp): DWARF 5, section 7.3.2 and appendix F,
// and before DWARF 5 https://gcc.gnu.org/wiki/DebugFission.

// skeleton is what a unit says about the one with its functions.
type skeleton struct {
	id        uint64
	name, dir value
	ranges    uint64 // before DWARF 5, where offsets in .debug_ranges count from
}

// Splits opens files with the functions of units.
type Splits struct {
	// Open opens a .dwo file, which the compiler wrote in a directory. The size is what keeping
	// it takes of memory.
	Open func(name, dir string) (f *safeelf.File, size int64, err error)
	// Package returns the .dwp file, nil if there is none.
	Package func() *safeelf.File

	first atomic.Pointer[error] // why the first file that could not be read was not
	open  sync.Once
	pack  *Info  // of the package, nil if there is none
	index []byte // of the package
}

// maxIndex is the largest number of bytes of an index of a package.
const maxIndex = 64 << 20

// packed returns the package's information, nil if there is none, and its index.
func (s *Splits) packed(d *Info) (*Info, []byte) {
	s.open.Do(func() {
		f := s.Package()
		if f == nil {
			return
		}
		index := f.Section(".debug_cu_index")
		if index == nil {
			return
		}
		if data, err := f.Data(index, maxIndex); err == nil {
			s.pack, _ = d.openSplit(f)
			s.index = data
		}
		if index := f.Section(".debug_tu_index"); index != nil && s.pack != nil {
			s.pack.typeIndex, _ = f.Data(index, maxIndex)
		}
	})
	return s.pack, s.index
}

// SetSplits says how files with functions are opened.
func (d *Info) SetSplits(s *Splits) { d.splits = s }

// Split reports whether functions are in other files.
func (d *Info) Split() bool { return len(d.skeletons) > 0 }

var errNoUnit = errors.New("it has no such unit")

// split returns the unit with the functions of a skeleton, and what keeping it takes.
func (d *Info) split(u *unit, sk *skeleton) (*Info, *unit, int64, error) {
	if d.splits == nil {
		return nil, nil, 0, nil
	}
	if pack, index := d.splits.packed(d); pack != nil {
		if at, ok := findUnit(index, d.bo, sk.id); ok {
			if out := pack.unitOf(u, sk, at); out != nil {
				return pack, out, 0, nil
			}
		}
	}
	name, dir := d.string(u, sk.name), d.string(u, sk.dir)
	f, size, err := d.splits.Open(name, dir)
	if err == nil {
		var info *Info
		if info, err = d.openSplit(f); err == nil {
			if out := info.unitOf(u, sk, contributions{}); out != nil {
				return info, out, size + info.held, nil
			}
			err = errNoUnit
		}
	}
	err = fmt.Errorf("-gsplit-dwarf has put functions into files of their own, such as %s: %w", join(dir, name), err)
	d.splits.first.CompareAndSwap(nil, &err)
	return nil, nil, 0, *d.splits.first.Load() // one file is named
}

// openSplit opens a file with functions of units that d has skeletons of.
func (d *Info) openSplit(f *safeelf.File) (*Info, error) {
	var types section
	s := &Info{bo: d.bo, arch: d.arch, apart: true, shapes: map[uint64]*abbrevs{}, names: map[uint64]*name{}, addr: d.addr, ranges: d.ranges}
	for name, sec := range map[string]*section{
		".debug_info.dwo": &s.info, ".debug_abbrev.dwo": &s.abbrev, ".debug_str.dwo": &s.str,
		".debug_str_offsets.dwo": &s.strOffsets, ".debug_rnglists.dwo": &s.rnglists,
		".debug_loc.dwo": &s.loc, ".debug_loclists.dwo": &s.loclists, ".debug_types.dwo": &types,
	} {
		var err error
		if *sec, err = openSections(f, name); err != nil {
			return nil, err
		}
		s.held += sec.held
	}
	if types.r != nil {
		s.types = s.typesIn(types)
	}
	return s, nil
}

// unitOf finds the unit with the functions of a skeleton, which is u, nil if there is none.
func (s *Info) unitOf(u *unit, sk *skeleton, at contributions) *unit {
	buf := make([]byte, 64)
	for off := at.info; off < s.info.size(); {
		b := buffer{data: s.info.read(buf, off), bo: s.bo}
		out, ok := s.readHeader(&b, off)
		if out.end <= off || out.end > s.info.size() {
			break
		}
		if off = out.end; !ok || out.typeOff > 0 || out.enc.version >= 5 && out.id != sk.id {
			continue
		}
		out.low, out.addrBase, out.lines = u.low, u.addrBase, u.lines
		out.rangeBase = sk.ranges
		out.place(at)
		return &out
	}
	return nil
}

// place notes where the parts of a unit of a split file begin.
func (u *unit) place(at contributions) {
	u.abbrev += at.abbrev
	u.strBase, u.locBase = at.strings, at.locations
	if u.enc.version >= 5 {
		// Behind the headers of these sections.
		u.strBase += 2 * uint64(u.enc.offset)
		header := uint64(12)
		if u.enc.offset == 8 {
			header = 20
		}
		u.rangeBase, u.locBase = at.ranges+header, at.locations+header
	}
}

// contributions are where the parts of a unit begin in the sections of a package.
type contributions struct{ info, abbrev, strings, ranges, locations uint64 }

// findUnit finds a unit in the index of a package.
func findUnit(data []byte, bo binary.ByteOrder, id uint64) (at contributions, ok bool) {
	t, ok := readTable(data, bo)
	row := uint64(0)
	for ok && len(t.hashes.data) > 0 {
		hash, r := t.hashes.u64(), t.rows.u32()
		if hash == id && r != 0 {
			row = uint64(r)
		}
	}
	if row == 0 || row > t.units {
		return at, false
	}
	return t.row(row), true
}
