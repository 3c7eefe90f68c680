package cfi

// Return says where a function's return address is, at an instruction at which the
// stack pointer leads to it.
type Return struct {
	Link   bool  // in the link register
	At     int64 // otherwise so far above the stack pointer
	Saves  bool  // whether the caller's frame pointer is on the stack
	SaveAt int64 // then so far above the stack pointer
}

// Return returns where the return address is. ok is false if only a register other than the
// stack pointer leads to it, as the frame pointer does in functions that have one.
func (r *Row) Return(m *Machine) (ret Return, ok bool) {
	if r.cfa != nil || r.reg != m.SP || r.signal {
		return ret, false
	}
	ra := rule{}
	for i := range r.rules {
		switch u := &r.rules[i]; {
		case u.reg == r.ra:
			ra = *u
		case u.reg == m.FP && u.kind == saved:
			ret.Saves, ret.SaveAt = true, r.off+u.off
		}
	}
	switch {
	case ra.kind == saved:
		ret.At = r.off + ra.off
		return ret, true
	case ra.kind == same && m.Link != 0 && m.Link == r.ra:
		ret.Link = true
		return ret, true
	}
	return ret, false
}

// Frame returns the register and the distance from it that make the canonical frame address. ok is
// false if an expression computes it, or r is nil.
func (r *Row) Frame() (reg uint8, off int64, ok bool) {
	if r == nil || r.cfa != nil || r.reg >= PC {
		return 0, 0, false
	}
	return r.reg, r.off, true
}
