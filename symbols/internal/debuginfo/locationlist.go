package debuginfo

// expression returns the expression that v, the location of a variable, has for the code at addr.
func (d *Info) expression(u *unit, v value, addr uint64) ([]byte, error) {
	switch v.form {
	case formBlock, formBlock1, formBlock2, formBlock4, formExprloc:
		return v.str, nil
	case 0:
		return nil, errOptimisedOut
	}
	off := v.num
	if v.form == formLoclistx {
		var raw [8]byte
		b := buffer{data: d.loclists.read(raw[:u.enc.offset], u.locBase+off*uint64(u.enc.offset)), bo: d.bo}
		if off = u.locBase + b.uint(u.enc.offset); b.failed {
			return nil, errOptimisedOut
		}
	}
	s, list := &d.loclists, d.locationList
	if u.enc.version < 5 {
		s, list = &d.loc, d.oldLocationList
		if d.apart {
			list, off = d.splitLocationList, off+u.locBase
		}
	}
	b := buffer{data: s.read(make([]byte, 64<<10), off), bo: d.bo}
	if code := list(u, &b, addr); code != nil {
		return code, nil
	}
	return nil, errOptimisedOut
}

// locationList returns the expression for addr in a list of .debug_loclists (DWARF 5, section 7.7.3).
func (d *Info) locationList(u *unit, b *buffer, addr uint64) (other []byte) {
	base := u.low
	for !b.failed && len(b.data) > 0 {
		kind := b.u8()
		switch {
		case kind == 0 || kind > 9: // DW_LLE_end_of_list
			return other
		case kind == 9: // DW_LLE_GNU_view_pair
			b.uleb()
			b.uleb()
			continue
		}
		r, ok := d.bounds(u, b, kind, &base)
		if !ok && kind != 5 {
			continue
		}
		code := b.take(b.uleb())
		if kind == 5 { // DW_LLE_default_location
			other = code
		} else if addr >= r.low && addr < r.high && !b.failed {
			return code
		}
	}
	return other
}

// splitLocationList returns the expression for addr in a list of .debug_loc.dwo, before DWARF 5:
// https://gcc.gnu.org/wiki/DebugFission, "Location Lists". Lengths and offsets have four bytes there.
func (d *Info) splitLocationList(u *unit, b *buffer, addr uint64) []byte {
	base := u.low
	for !b.failed && len(b.data) > 0 {
		var r extent
		switch b.u8() {
		case 1: // DW_LLE_GNU_base_address_selection_entry
			base = d.addressAt(u, b.uleb())
			continue
		case 2: // DW_LLE_GNU_start_end_entry
			r = extent{d.addressAt(u, b.uleb()), d.addressAt(u, b.uleb())}
		case 3: // DW_LLE_GNU_start_length_entry
			r.low = d.addressAt(u, b.uleb())
			r.high = r.low + uint64(b.u32())
		case 4: // DW_LLE_GNU_offset_pair_entry
			r = extent{base + uint64(b.u32()), base + uint64(b.u32())}
		default: // DW_LLE_GNU_end_of_list_entry
			return nil
		}
		code := b.take(uint64(b.u16()))
		if addr >= r.low && addr < r.high && !b.failed {
			return code
		}
	}
	return nil
}

// oldLocationList returns the expression for addr in a list of .debug_loc (DWARF 4, section 2.6.2).
func (d *Info) oldLocationList(u *unit, b *buffer, addr uint64) []byte {
	base, size := u.low, u.enc.addr
	escape := ^uint64(0) >> (64 - 8*size)
	for !b.failed && len(b.data) > 0 {
		low, high := b.uint(size), b.uint(size)
		switch {
		case low == 0 && high == 0:
			return nil
		case low == escape:
			base = high
			continue
		}
		code := b.take(uint64(b.u16()))
		if addr >= base+low && addr < base+high && !b.failed {
			return code
		}
	}
	return nil
}
