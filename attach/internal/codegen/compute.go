package codegen

import (
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/attach/internal/query"
)

// waiting returns the place of a result that waits for another. Operands are on the stack
// only if there is no scratch memory.
func (g *generator) waiting(i int) int16 {
	if g.scratch {
		return stackSlot(i)
	}
	return stackSlot(len(g.sig.Operands) + i)
}

// compute puts the result of steps into R1, as [filter.Compute] returns it. failed returns
// where to jump to if a step fails. It changes R0 to R5.
func (g *generator) compute(steps []filter.Step, inputs []query.Input, failed func(step int) string) {
	n := 0 // results, of which the last one is in R1
	wait := func() {
		if n > 0 {
			g.emit(asm.StoreMem(asm.R10, g.waiting(n-1), asm.R1, asm.DWord))
		}
		n++
	}
	for i := 0; i < len(steps); i++ {
		switch s := &steps[i]; s.Op {
		case filter.Load:
			wait()
			g.loadInput(&inputs[s.Value.Index], failed(i))
		case filter.Push:
			if next := i + 1; n > 0 && next < len(steps) && steps[next].Op > filter.Push {
				g.emit(asm.LoadImm(asm.R2, int64(s.Bits), asm.DWord))
				g.operate(&steps[next], s, "") // who wrote a zero here was told
				i = next
				break
			}
			wait()
			g.emit(asm.LoadImm(asm.R1, int64(s.Bits), asm.DWord))
		default:
			n--
			g.emit(asm.Mov.Reg(asm.R2, asm.R1), asm.LoadMem(asm.R1, asm.R10, g.waiting(n-1), asm.DWord))
			g.operate(s, nil, failed(i))
		}
	}
}

// operate makes R1 the result of an operation with R1 and R2, whose value is that of a
// Push unless constant is nil. It jumps to failed if it divides by zero, and changes R2
// to R5. It has no branches, which the verifier would follow separately.
func (g *generator) operate(s, constant *filter.Step, failed string) {
	switch s.Op {
	case filter.Add:
		g.emit(asm.Add.Reg(asm.R1, asm.R2))
	case filter.Subtract:
		g.emit(asm.Sub.Reg(asm.R1, asm.R2))
	case filter.Multiply:
		g.emit(asm.Mul.Reg(asm.R1, asm.R2))
	case filter.Mask:
		g.emit(asm.And.Reg(asm.R1, asm.R2))
	case filter.ShiftLeft, filter.ShiftRight:
		g.shift(s)
	case filter.Divide, filter.Remainder:
		if constant == nil {
			g.emit(asm.JEq.Imm(asm.R2, 0, failed))
		}
		g.divide(s)
	}
}

// shift shifts R1 by R2. The kernel's shifts count modulo 64.
func (g *generator) shift(s *filter.Step) {
	g.emit( // R3 is -1 if R2 is 64 or more, and otherwise 0
		asm.Mov.Reg(asm.R3, asm.R2),
		asm.RSh.Imm(asm.R3, 6),
		asm.Mov.Reg(asm.R4, asm.R3),
		asm.Neg.Imm(asm.R4, 0),
		asm.Or.Reg(asm.R3, asm.R4),
		asm.ArSh.Imm(asm.R3, 63),
	)
	if s.Op == filter.ShiftRight && s.Signed {
		g.emit(
			asm.Or.Reg(asm.R2, asm.R3),
			asm.And.Imm(asm.R2, 63),
			asm.ArSh.Reg(asm.R1, asm.R2),
		)
		return
	}
	g.emit(asm.And.Imm(asm.R2, 63))
	if s.Op == filter.ShiftLeft {
		g.emit(asm.LSh.Reg(asm.R1, asm.R2))
	} else {
		g.emit(asm.RSh.Reg(asm.R1, asm.R2))
	}
	g.emit(asm.Xor.Imm(asm.R3, -1), asm.And.Reg(asm.R1, asm.R3))
}

// divide divides R1 by R2, which is not 0. Kernels before 6.6 divide only unsigned
// numbers: signed ones lose their signs first.
func (g *generator) divide(s *filter.Step) {
	if s.Signed {
		g.emit( // R3 and R4 are -1 for negative numbers, and otherwise 0
			asm.Mov.Reg(asm.R3, asm.R1), asm.ArSh.Imm(asm.R3, 63),
			asm.Mov.Reg(asm.R4, asm.R2), asm.ArSh.Imm(asm.R4, 63),
			asm.Xor.Reg(asm.R1, asm.R3), asm.Sub.Reg(asm.R1, asm.R3),
			asm.Xor.Reg(asm.R2, asm.R4), asm.Sub.Reg(asm.R2, asm.R4),
		)
	}
	if s.Op == filter.Divide {
		g.emit(asm.Div.Reg(asm.R1, asm.R2))
	} else {
		g.emit(asm.Mod.Reg(asm.R1, asm.R2))
	}
	if !s.Signed {
		return
	}
	if s.Op == filter.Divide {
		g.emit(asm.Xor.Reg(asm.R3, asm.R4))
	}
	g.emit(asm.Xor.Reg(asm.R1, asm.R3), asm.Sub.Reg(asm.R1, asm.R3))
}

// computedPart stores part i of a key, which steps compute, or marks it with why it cannot
// be computed.
func (g *generator) computedPart(part *query.Part, key asm.Register, at, marks int16, i int) {
	labels := make([]string, len(part.Steps))
	mark, done := g.newLabel("mark"), g.newLabel("part")
	g.compute(part.Steps, part.Inputs, func(step int) string {
		if labels[step] == "" {
			labels[step] = g.newLabel("failed")
		}
		return labels[step]
	})
	g.emit(asm.StoreMem(key, at+int16(part.Offset), asm.R1, asm.DWord))
	g.markSign(part, key, marks, i)
	g.emit(asm.Ja.Label(done))
	failing := false
	for step := range part.Steps {
		s := &part.Steps[step]
		divides := s.Op == filter.Divide || s.Op == filter.Remainder
		if labels[step] == "" || !divides && (s.Op != filter.Load || !g.mayFail(&part.Inputs[s.Value.Index])) {
			continue
		}
		g.label(labels[step])
		if divides {
			g.emit(asm.Mov.Imm(asm.R3, query.MarkDivision))
		} else {
			g.whyMissing(&part.Inputs[s.Value.Index])
		}
		g.emit(asm.Ja.Label(mark))
		failing = true
	}
	if failing {
		g.label(mark)
		g.markPart(part, key, at, marks, i)
	}
	g.label(done)
}
