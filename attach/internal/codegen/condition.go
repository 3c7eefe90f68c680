package codegen

import (
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/reader"
)

// filter jumps to unwanted unless the signature's condition holds.
func (g *generator) filter(unwanted string) {
	if g.sig.Condition == nil {
		return
	}
	wanted, no := g.newLabel("wanted"), unwanted
	if g.mayFault() {
		no = g.newLabel("unwanted")
		g.noFault()
	}
	g.condition(g.sig.Condition, wanted, no)
	if g.mayFault() {
		g.label(no)
		g.countFault(unwanted)
	}
	g.label(wanted)
}

// condition jumps to yes or to no. It changes R0 to R5.
func (g *generator) condition(c *filter.Condition, yes, no string) {
	switch c.Op {
	case filter.And:
		both := g.newLabel("and")
		g.condition(c.Left, both, no)
		g.label(both)
		g.condition(c.Right, yes, no)
	case filter.Or:
		neither := g.newLabel("or")
		g.condition(c.Left, yes, neither)
		g.label(neither)
		g.condition(c.Right, yes, no)
	case filter.Not:
		g.condition(c.Left, no, yes)
	case filter.Match, filter.Miss:
		in := &g.sig.Inputs[c.Value.Index]
		failed, fault := g.onFault(c.Value.Index, no)
		if in.Group != 0 {
			holds, not := yes, no
			if c.Op == filter.Miss {
				holds, not = no, yes
			}
			g.loadInput(in, failed)
			g.isGroup(&query.GroupTest{Word: in.Group, Prefix: c.Prefix, Pattern: c.Pattern}, holds, not, no)
			fault()
			break
		}
		g.loadString(in, int16(g.sig.StringArea()), failed)
		g.cutString(regRecord, int16(g.sig.StringArea()), c.Prefix)
		if c.Op == filter.Match {
			g.match(c.Pattern, yes, no)
		} else {
			g.match(c.Pattern, no, yes)
		}
		fault()
	default:
		var faults []func()
		failed := func(input int) string {
			label, fault := g.onFault(input, no)
			faults = append(faults, fault)
			return label
		}
		if c.Steps != nil {
			g.compute(c.Steps, g.sig.Inputs, func(step int) string {
				if c.Steps[step].Op != filter.Load {
					return no // what is divided by zero
				}
				return failed(c.Steps[step].Value.Index)
			})
		} else {
			in := &g.sig.Inputs[c.Value.Index]
			g.loadInput(in, failed(c.Value.Index))
			if in.Kind == reader.Float {
				g.orderFloat(in, no)
			}
		}
		g.emit(
			asm.LoadImm(asm.R2, int64(c.Bits), asm.DWord),
			jumps[jump{c.Op, c.Signed}].Reg(asm.R1, asm.R2, yes),
			asm.Ja.Label(no),
		)
		for _, fault := range faults {
			fault()
		}
	}
}

type jump struct {
	op     filter.Op
	signed bool
}

var jumps = map[jump]asm.JumpOp{
	{filter.Equal, false}: asm.JEq, {filter.Equal, true}: asm.JEq,
	{filter.Differs, false}: asm.JNE, {filter.Differs, true}: asm.JNE,
	{filter.Less, false}: asm.JLT, {filter.Less, true}: asm.JSLT,
	{filter.LessEqual, false}: asm.JLE, {filter.LessEqual, true}: asm.JSLE,
	{filter.Greater, false}: asm.JGT, {filter.Greater, true}: asm.JSGT,
	{filter.GreaterEqual, false}: asm.JGE, {filter.GreaterEqual, true}: asm.JSGE,
}

// forget makes the verifier forget what it knows about a number, so that it walks
// through the code that follows only once, whatever the number was. It changes
// R1.
func (g *generator) forget(r asm.Register) {
	unknown := regContext
	if !g.kind.hook.HasRegisters() {
		unknown = regCounters
	}
	g.emit(
		asm.LoadMem(asm.R1, unknown, 0, asm.DWord),
		asm.Add.Reg(r, asm.R1),
		asm.Sub.Reg(r, asm.R1),
	)
}
