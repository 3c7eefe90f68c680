package debuginfo

import "slices"

// extent is a range of addresses, from low to just below high.
type extent struct{ low, high uint64 }

// code returns the code that an entry of u with these attributes is about. Each entry
// of a list counts against limit.
func (d *Info) code(u *unit, low, high, ranges value, limit *int) (raw []extent) {
	switch {
	case ranges.form != 0 && u.enc.version >= 5:
		off := ranges.num
		if ranges.form == formRnglistx {
			var b [8]byte
			at := buffer{data: d.rnglists.read(b[:u.enc.offset], u.rangeBase+off*uint64(u.enc.offset)), bo: d.bo}
			if off = u.rangeBase + at.uint(u.enc.offset); at.failed {
				return nil
			}
		}
		raw = d.list(&d.rnglists, off, limit, u, d.rnglist)
	case ranges.form != 0:
		raw = d.list(&d.ranges, u.rangeBase+ranges.num, limit, u, d.rangeList)
	case low.form != 0 && high.form != 0:
		lo, hi := d.address(u, low), high.num
		if high.isAddress() {
			hi = d.address(u, high)
		} else {
			hi += lo
		}
		*limit--
		raw = []extent{{lo, hi}}
	}
	return slices.DeleteFunc(raw, func(r extent) bool {
		// Linkers that drop a function leave 0 or the largest addresses for it.
		return r.low == 0 || r.low >= r.high || r.low >= ^uint64(1)
	})
}

// maxList is the largest number of bytes of a list of ranges.
const maxList = 16 << 20

// list decodes the list at off of s, first the beginning and then, if the list goes
// on, more.
func (d *Info) list(s *section, off uint64, limit *int, u *unit, decode func(u *unit, b *buffer, limit *int) ([]extent, bool)) []extent {
	for size := 256; size <= maxList && *limit > 0; size *= 16 {
		b := buffer{data: s.read(make([]byte, size), off), bo: d.bo}
		whole := len(b.data) < size
		if out, ended := decode(u, &b, limit); ended || whole {
			return out
		}
	}
	return nil
}

// rangeList decodes a list of .debug_ranges. ended reports that it found the end.
func (d *Info) rangeList(u *unit, b *buffer, limit *int) (out []extent, ended bool) {
	base, size := u.low, u.enc.addr
	escape := ^uint64(0) >> (64 - 8*size)
	for ; *limit > 0; *limit-- {
		low, high := b.uint(size), b.uint(size)
		switch {
		case b.failed:
			return out, false
		case low == 0 && high == 0:
			return out, true
		case low == escape:
			base = high
		default:
			out = append(out, extent{base + low, base + high})
		}
	}
	return out, true
}

// rnglist decodes a list of .debug_rnglists (DWARF 5, section 7.25).
func (d *Info) rnglist(u *unit, b *buffer, limit *int) (out []extent, ended bool) {
	base := u.low
	for ; *limit > 0; *limit-- {
		kind := b.u8()
		if kind == 0 || kind > 7 { // DW_RLE_end_of_list
			return out, kind > 0 || !b.failed
		}
		if kind >= 5 {
			kind++ // as lists of locations number them
		}
		r, ok := d.bounds(u, b, kind, &base)
		if !ok {
			continue
		}
		if b.failed {
			return out, false
		}
		out = append(out, r)
	}
	return out, true
}

// bounds decodes an entry of a list of locations behind its kind: its bounds, or the base of later ones.
func (d *Info) bounds(u *unit, b *buffer, kind uint8, base *uint64) (r extent, ok bool) {
	switch kind {
	case 1: // DW_LLE_base_addressx
		*base = d.addressAt(u, b.uleb())
		return r, false
	case 2: // DW_LLE_startx_endx
		return extent{d.addressAt(u, b.uleb()), d.addressAt(u, b.uleb())}, true
	case 3: // DW_LLE_startx_length
		r.low = d.addressAt(u, b.uleb())
	case 4: // DW_LLE_offset_pair
		return extent{*base + b.uleb(), *base + b.uleb()}, true
	case 6: // DW_LLE_base_address
		*base = b.uint(u.enc.addr)
		return r, false
	case 7: // DW_LLE_start_end
		return extent{b.uint(u.enc.addr), b.uint(u.enc.addr)}, true
	case 8: // DW_LLE_start_length
		r.low = b.uint(u.enc.addr)
	default:
		return r, false
	}
	r.high = r.low + b.uleb()
	return r, true
}

// isAddress reports whether the value is an address, or stands for one.
func (v *value) isAddress() bool {
	switch v.form {
	case formAddr, formAddrx, formAddrx1, formAddrx2, formAddrx3, formAddrx4, formGNUAddrIndex:
		return true
	}
	return false
}

// address returns the address for which v stands.
func (d *Info) address(u *unit, v value) uint64 {
	if v.form == formAddr {
		return v.num
	}
	return d.addressAt(u, v.num)
}

// addressAt returns the address with an index in .debug_addr.
func (d *Info) addressAt(u *unit, index uint64) uint64 {
	var buf [8]byte
	b := buffer{data: d.addr.read(buf[:u.enc.addr], u.addrBase+index*uint64(u.enc.addr)), bo: d.bo}
	return b.uint(u.enc.addr)
}

// string returns the string for which v stands.
func (d *Info) string(u *unit, v value) string {
	switch v.form {
	case formString:
		return string(v.str)
	case formStrp:
		return d.str.str(v.num)
	case formLineStrp:
		return d.lineStr.str(v.num)
	case formStrpSup, formGNUStrpAlt:
		if d.alt != nil {
			return d.alt.str.str(v.num)
		}
	case formStrx, formStrx1, formStrx2, formStrx3, formStrx4, formGNUStrIndex:
		var buf [8]byte
		b := buffer{data: d.strOffsets.read(buf[:u.enc.offset], u.strBase+v.num*uint64(u.enc.offset)), bo: d.bo}
		if off := b.uint(u.enc.offset); !b.failed {
			return d.str.str(off)
		}
	}
	return ""
}
