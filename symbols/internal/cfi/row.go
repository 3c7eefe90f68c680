package cfi

// Row says where the caller's registers are, at an instruction. The caller's stack
// pointer is the canonical frame address, CFA.
type Row struct {
	pc     uint64
	reg    uint8 // CFA is this register plus off, unless there is an expression
	off    int64
	cfa    []byte // expression
	ra     uint8  // the register with the return address, or the column that stands for it
	signal bool
	rules  []rule
}

// rule says where a register of the caller is.
type rule struct {
	kind ruleKind
	reg  uint8 // whose rule it is
	off  int64 // from CFA; the register, of inRegister
	expr []byte
}

type ruleKind uint8

const (
	same      ruleKind = iota // the register still has its value
	undefined                 // the value is lost; if it is the return address, no one called
	saved                     // at CFA plus off
	isOffset                  // it is CFA plus off
	inRegister
	savedExpr // where the expression says
	isExpr    // what the expression says
)

const (
	// maxSteps is the number of instructions that are run for a row.
	maxSteps = 1 << 16
	// maxStates is the number of states that instructions may remember.
	maxStates = 16
)

// state is the machine that makes rows.
type state struct {
	reg   uint8
	off   int64
	cfa   []byte
	rules [PC]rule
}

// Row returns the row for the instruction at pc, nil if there is none.
func (t *Table) Row(pc uint64) *Row {
	slot := &t.rows[(pc^pc>>12)%rowCache]
	if r := slot.Load(); r != nil && r.pc == pc {
		return r
	}
	e := t.find(pc)
	if e == nil {
		return nil
	}
	var s, initial state
	steps := maxSteps
	if _, ok := s.run(e.common, e.common.instructions, e.start, ^uint64(0), nil, &steps); !ok {
		return nil
	}
	initial = s
	code := t.sections[e.section].data[e.off:e.end]
	if _, ok := s.run(e.common, code, e.start, pc, &initial, &steps); !ok {
		return nil
	}
	r := &Row{pc: pc, reg: s.reg, off: s.off, cfa: s.cfa, ra: e.common.ra, signal: e.common.signal}
	for i := range s.rules {
		if s.rules[i].kind != same {
			r.rules = append(r.rules, s.rules[i])
			r.rules[len(r.rules)-1].reg = uint8(i)
		}
	}
	slot.Store(r)
	return r
}

// Instructions (DWARF 5, section 7.24). Those above 0x2c are GNU's and Arm's.
const (
	advanceLoc = 0x40
	offset     = 0x80
	restore    = 0xc0

	setLoc           = 0x01
	advanceLoc1      = 0x02
	advanceLoc2      = 0x03
	advanceLoc4      = 0x04
	offsetExtended   = 0x05
	restoreExtended  = 0x06
	undefinedOp      = 0x07
	sameValue        = 0x08
	registerOp       = 0x09
	rememberState    = 0x0a
	restoreState     = 0x0b
	defCFA           = 0x0c
	defCFARegister   = 0x0d
	defCFAOffset     = 0x0e
	defCFAExpression = 0x0f
	expression       = 0x10
	offsetExtendedSF = 0x11
	defCFASF         = 0x12
	defCFAOffsetSF   = 0x13
	valOffset        = 0x14
	valOffsetSF      = 0x15
	valExpression    = 0x16
	negateRAState    = 0x2d
	argsSize         = 0x2e
	negativeOffset   = 0x2f
)

// run runs the instructions in code, of the function at loc, up to those for pc. It
// returns false for what it does not know.
func (s *state) run(c *common, code []byte, loc, pc uint64, initial *state, steps *int) (uint64, bool) {
	b := cursor{data: code}
	var remembered []state
	set := func(reg uint64, r rule) {
		if reg < PC {
			s.rules[reg] = r
		}
	}
	register := func(reg uint64) uint8 { return uint8(min(reg, 0xff)) }
	for b.more() {
		if *steps--; *steps < 0 {
			return loc, false
		}
		op := b.u8()
		low := uint64(op & 0x3f)
		next := loc
		switch op & 0xc0 {
		case advanceLoc:
			next += low * uint64(c.code)
		case offset:
			set(low, rule{kind: saved, off: int64(b.uleb()) * c.data})
		case restore:
			if initial != nil && low < PC {
				s.rules[low] = initial.rules[low]
			}
		default:
			switch op {
			case 0:
			case setLoc:
				next = b.u64()
			case advanceLoc1:
				next += uint64(b.u8()) * uint64(c.code)
			case advanceLoc2:
				next += uint64(b.u16()) * uint64(c.code)
			case advanceLoc4:
				next += uint64(b.u32()) * uint64(c.code)
			case offsetExtended:
				reg := b.uleb()
				set(reg, rule{kind: saved, off: int64(b.uleb()) * c.data})
			case offsetExtendedSF:
				reg := b.uleb()
				set(reg, rule{kind: saved, off: b.sleb() * c.data})
			case negativeOffset:
				reg := b.uleb()
				set(reg, rule{kind: saved, off: -int64(b.uleb()) * c.data})
			case restoreExtended:
				if reg := b.uleb(); initial != nil && reg < PC {
					s.rules[reg] = initial.rules[reg]
				}
			case undefinedOp:
				set(b.uleb(), rule{kind: undefined})
			case sameValue:
				set(b.uleb(), rule{})
			case registerOp:
				reg := b.uleb()
				set(reg, rule{kind: inRegister, off: int64(register(b.uleb()))})
			case rememberState:
				if len(remembered) >= maxStates {
					return loc, false
				}
				remembered = append(remembered, *s)
			case restoreState:
				n := len(remembered)
				if n == 0 {
					return loc, false
				}
				*s, remembered = remembered[n-1], remembered[:n-1]
			case defCFA:
				s.reg, s.off, s.cfa = register(b.uleb()), int64(b.uleb()), nil
			case defCFASF:
				s.reg, s.off, s.cfa = register(b.uleb()), b.sleb()*c.data, nil
			case defCFARegister:
				s.reg, s.cfa = register(b.uleb()), nil
			case defCFAOffset:
				s.off = int64(b.uleb())
			case defCFAOffsetSF:
				s.off = b.sleb() * c.data
			case defCFAExpression:
				s.cfa = b.skip(b.uleb())
			case expression:
				reg := b.uleb()
				set(reg, rule{kind: savedExpr, expr: b.skip(b.uleb())})
			case valExpression:
				reg := b.uleb()
				set(reg, rule{kind: isExpr, expr: b.skip(b.uleb())})
			case valOffset:
				reg := b.uleb()
				set(reg, rule{kind: isOffset, off: int64(b.uleb()) * c.data})
			case valOffsetSF:
				reg := b.uleb()
				set(reg, rule{kind: isOffset, off: b.sleb() * c.data})
			case negateRAState: // signatures are masked
			case argsSize:
				b.uleb()
			default:
				return loc, false
			}
		}
		if b.failed {
			return loc, false
		}
		if next > pc {
			return loc, true
		}
		loc = next
	}
	return loc, true
}
