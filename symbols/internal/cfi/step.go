package cfi

// Step replaces the registers of a function by its caller's, as r says. It
// returns false if there is no caller, or no way to find it. signal reports that a
// signal interrupted the caller: its program counter is then no return address.
func (r *Row) Step(m *Machine, regs *Registers, stack *Stack) (signal, ok bool) {
	cfa := uint64(0)
	if r.cfa != nil {
		if cfa, ok = evaluate(r.cfa, regs, stack, 0, false); !ok {
			return false, false
		}
	} else {
		if r.reg >= PC {
			return false, false
		}
		cfa = regs[r.reg] + uint64(r.off)
	}
	out := *regs
	out[m.SP] = cfa
	ra := rule{}
	for i := range r.rules {
		u := &r.rules[i]
		if u.reg == r.ra {
			ra = *u
		}
		v, known, ok := u.value(regs, stack, cfa)
		if !ok {
			// Only what is needed must be known.
			if u.reg == r.ra {
				return false, false
			}
			continue
		}
		if known {
			out[u.reg] = v
		}
	}
	if noCaller(&ra, m, r) {
		return false, false
	}
	out[PC] = out[r.ra] & m.Mask
	if m.Link == 0 {
		out[r.ra] = 0 // it is no register
	}
	*regs = out
	return r.signal, true
}

// Last reports whether the function has no caller: the outermost ones of threads say so.
func (r *Row) Last(m *Machine) bool {
	ra := rule{}
	for i := range r.rules {
		if r.rules[i].reg == r.ra {
			ra = r.rules[i]
		}
	}
	return noCaller(&ra, m, r)
}

// noCaller reports whether the rule of a return address says that there is none.
func noCaller(ra *rule, m *Machine, r *Row) bool {
	return ra.kind == undefined || ra.kind == same && m.Link != r.ra
}

// value returns the register's value in the caller. known is false if it is lost.
func (u *rule) value(regs *Registers, stack *Stack, cfa uint64) (v uint64, known, ok bool) {
	switch u.kind {
	case same:
		return regs[u.reg], true, true
	case undefined:
		return 0, false, true
	case saved:
		v, ok = stack.Word(cfa + uint64(u.off))
	case isOffset:
		v, ok = cfa+uint64(u.off), true
	case inRegister:
		if u.off < PC {
			v, ok = regs[u.off], true
		}
	case savedExpr:
		if v, ok = evaluate(u.expr, regs, stack, cfa, true); ok {
			v, ok = stack.Word(v)
		}
	case isExpr:
		v, ok = evaluate(u.expr, regs, stack, cfa, true)
	}
	return v, ok, ok
}
