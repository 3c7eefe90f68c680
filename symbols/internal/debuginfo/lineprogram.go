package debuginfo

import "slices"

// program is a line number program (DWARF 5, section 6.2) and the state of the
// machine that runs it.
type program struct {
	info   *Info
	unit   *unit
	number int // of the unit
	lines  *lines

	minInst, maxOps, lineRange uint64
	lineBase                   int64
	opcodeBase                 uint8
	operands                   []byte // of the standard opcodes: how many

	addr, op   uint64
	file, line uint64
	start      int   // the row with which the sequence began
	starts     []int // of the sequences that are kept

	whole                  bool // to keep each row, and what it says in marks
	marks                  []mark
	byDefault, stmt, ended bool // whether rows are statements, and behind a prologue
	part                   bool // whether the next row is another part of its line
}

// mark is what a row says beside its line.
type mark uint8

const (
	isStmt      mark = 1 << iota
	prologueEnd      // the function's own code begins here
	linePart         // a part of the line, which has a discriminator
)

// Opcodes (section 7.22).
const (
	lnsCopy = iota + 1
	lnsAdvancePC
	lnsAdvanceLine
	lnsSetFile
	lnsSetColumn
	lnsNegateStmt
	lnsSetBasicBlock
	lnsConstAddPC
	lnsFixedAdvancePC
	lnsSetPrologueEnd
	lnsSetEpilogueBegin
	lnsSetISA

	lneEndSequence = 1
	lneSetAddress  = 2
	lneDefineFile  = 3

	lneSetDiscriminator = 4
)

func (p *program) reset() {
	p.addr, p.op, p.file, p.line, p.start = 0, 0, 1, 1, len(p.lines.rows)
	p.stmt, p.ended, p.part = p.byDefault, false, false
}

// run makes the rows. It ends at what it does not understand, and keeps the rows
// before.
func (p *program) run(b *buffer, e encoding) {
	p.reset()
	for len(b.data) > 0 && !b.failed && len(p.lines.rows) < maxRows {
		op := b.u8()
		if op >= p.opcodeBase {
			adjusted := uint64(op - p.opcodeBase)
			p.advance(adjusted / p.lineRange)
			p.line += uint64(p.lineBase + int64(adjusted%p.lineRange))
			p.row(uint32(p.file))
			continue
		}
		switch op {
		case 0:
			p.extended(b, e)
		case lnsCopy:
			p.row(uint32(p.file))
		case lnsAdvancePC:
			p.advance(b.uleb())
		case lnsAdvanceLine:
			p.line += uint64(b.sleb())
		case lnsSetFile:
			p.file = b.uleb()
		case lnsSetColumn, lnsSetISA:
			b.uleb()
		case lnsNegateStmt:
			p.stmt = !p.stmt
		case lnsSetPrologueEnd:
			p.ended = true
		case lnsSetBasicBlock, lnsSetEpilogueBegin:
		case lnsConstAddPC:
			p.advance(uint64(255-p.opcodeBase) / p.lineRange)
		case lnsFixedAdvancePC:
			p.addr += uint64(b.u16())
			p.op = 0
		default:
			for range p.operands[op-1] {
				b.uleb()
			}
		}
	}
	// A sequence without an end is not complete.
	p.lines.rows = slices.Clip(p.lines.rows[:min(p.start, len(p.lines.rows))])
}

// advance moves on by n operations: instructions or, on VLIW machines, their parts.
func (p *program) advance(n uint64) {
	if p.maxOps == 1 {
		p.addr += p.minInst * n
		return
	}
	n += p.op
	p.addr += p.minInst * (n / p.maxOps)
	p.op = n % p.maxOps
}

// row appends a row, or changes the last one if no code comes from that.
func (p *program) row(file uint32) {
	rows := p.lines.rows
	r := row{addr: p.addr, file: file, line: uint32(p.line)}
	if p.whole {
		var m mark
		if p.stmt {
			m = isStmt
		}
		if p.ended {
			m |= prologueEnd
		}
		if p.part {
			m |= linePart
		}
		p.lines.rows, p.marks, p.ended, p.part = append(rows, r), append(p.marks, m), false, false
		return
	}
	if n := len(rows); n > p.start && (rows[n-1].addr == r.addr && rows[n-1].file != endOfSequence) {
		rows[n-1] = r
		return
	}
	p.lines.rows = append(rows, r)
}

func (p *program) extended(b *buffer, e encoding) {
	args := buffer{data: b.take(b.uleb()), bo: b.bo}
	switch args.u8() {
	case lneEndSequence:
		p.row(endOfSequence)
		p.end()
	case lneSetAddress:
		p.addr, p.op = args.uint(len(args.data)), 0
	case lneSetDiscriminator:
		p.part = args.uleb() != 0
	case lneDefineFile:
		if len(p.lines.files) < maxFiles {
			p.addFile(args.str(), &args)
		}
	}
}

// end keeps the sequence if it is about the unit's code: linkers leave sequences of
// functions that they drop.
func (p *program) end() {
	defer p.reset()
	if first := p.lines.rows[p.start].addr; first != 0 {
		if n, ok := p.info.Unit(first); ok && (n == p.number || p.whole) {
			p.starts = append(p.starts, p.start)
			return
		}
	}
	p.lines.rows = p.lines.rows[:p.start]
	if p.whole {
		p.marks = p.marks[:p.start]
	}
}

// addFile adds a file of which b has what follows its name, before DWARF 5.
func (p *program) addFile(name []byte, b *buffer) {
	dir := b.uleb()
	b.uleb() // when it was changed
	b.uleb() // its size
	p.lines.files = append(p.lines.files, file{dir: int(min(dir, maxFiles)) - 1, name: string(name)})
}
