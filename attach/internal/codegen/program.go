package codegen

import (
	"fmt"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/process"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/internal/kernel"
	"github.com/go-usdt/usdt/internal/record"
)

// Registers of a generated program that survive helper calls.
const (
	regContext  = asm.R6
	regRecord   = asm.R7
	regCounters = asm.R8
	regSite     = asm.R9 // the site's cookie, until the record holds it
	regCursor   = asm.R9 // then: where the next string goes
)

// Stack slots, from the frame pointer.
const (
	stackKey    = -8
	stackLength = -16
	stackErrors = -24 // bits of failed reads
	stackSum    = -32
	stackClock  = -40                            // when an end fired, then the time since its start
	stackSlots  = operand.SlotsAt                // and below: memory operands of records without strings
	stackGroup  = stackSlots - 8*record.MaxReads // and below: an aggregate's keys
)

const (
	// maxInstructions in a program; jumps reach 2^15.
	maxInstructions = 20_000
	// maxWalk is how many instructions, by estimate, the verifier may have to
	// walk through: it gives up after 1,000,000 (kernel/bpf/verifier.c:
	// BPF_COMPLEXITY_LIMIT_INSNS).
	maxWalk = 300_000
)

// Entry is where the code of a signature begins. A program holds the code of several
// signatures, so that a file's sites share a link, and finds it by the upper half
// of the cookie. The lower half is the index of the site.
type Entry struct {
	Program int // an index of the programs that Specs returns
	index   int
}

// Cookie returns the cookie with which a link attaches a site.
func (f Entry) Cookie(site int) uint64 { return uint64(f.index)<<32 | uint64(uint32(site)) }

// Specs generates programs for the signatures and says where each one is. No program
// has more instructions than jumps reach, nor more than the verifier walks through.
func Specs(sigs []*query.Signature, r *Refs) ([]*ebpf.ProgramSpec, map[*query.Signature]Entry) {
	var specs []*ebpf.ProgramSpec
	entries := make(map[*query.Signature]Entry, len(sigs))
	for _, k := range kindsOfAll(sigs) {
		g := &generator{refs: r, kind: k}
		var bodies []asm.Instructions
		size, walk, filters, site, reads := 0, 0, false, false, false
		flush := func() {
			if len(bodies) > 0 {
				specs = append(specs, g.program(bodies, filters, site || len(bodies) > 1, reads))
				bodies, size, walk, filters, site, reads = nil, 0, 0, false, false, false
			}
		}
		for _, sig := range sigs {
			if kindOf(sig) != k {
				continue
			}
			body := g.body(sig)
			cost := len(body)
			for _, part := range sig.Parts() {
				cost += searchCost(part.Condition) + hashCost(part)
			}
			if size+len(body) > maxInstructions || walk+cost > maxWalk {
				flush()
			}
			for _, part := range sig.Parts() {
				filters = filters || part.Filters()
				site = site || part.NamesSite()
				reads = reads || part.Condition != nil || part.Aggregate == nil || !part.Aggregate.OnlyCounts()
			}
			size, walk = size+len(body), walk+cost
			entries[sig] = Entry{Program: len(specs), index: len(bodies)}
			bodies = append(bodies, body)
		}
		flush()
	}
	return specs, entries
}

// programKind is what signatures must have in common for their code to be in one
// program. A program that may sleep costs a little more than others.
type programKind struct {
	hook   query.Hook
	sleeps bool
	call   bool // it runs at entries and at returns
}

func kindOf(s *query.Signature) programKind {
	reads := s.ReadsMemory() || s.AtReturn != nil && s.AtReturn.ReadsMemory()
	return programKind{s.Hook, s.Hook.Sleeps && reads, s.AtReturn != nil}
}

// kindsOfAll returns the kinds of programs that signatures need, in their order.
func kindsOfAll(sigs []*query.Signature) (kinds []programKind) {
	for _, sig := range sigs {
		if k := kindOf(sig); !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// generator writes programs.
type generator struct {
	refs       *Refs
	kind       programKind
	sig        *query.Signature // of the body being written
	scratch    bool             // sig needs scratch memory
	cursorMask int32            // of sig
	ins        asm.Instructions
	labels     int
	next       string // label for the next instruction
}

// body returns the code for one signature. It ends by a jump to "exit", "lost"
// or "filtered".
func (g *generator) body(sig *query.Signature) asm.Instructions {
	g.ins = nil
	if sig.AtReturn == nil {
		g.part(sig)
		return g.ins
	}
	returned := g.newLabel("returned")
	g.ifReturned(returned)
	g.part(sig)
	g.label(returned)
	g.part(sig.AtReturn)
	return g.ins
}

// part writes the code for a signature, without what it does at the return.
func (g *generator) part(sig *query.Signature) {
	g.sig = sig
	g.scratch, g.cursorMask = sig.NeedsScratch(), int32(sig.CursorMask())
	g.saveWords()
	if sig.Aggregate != nil {
		g.emitAggregate()
	} else {
		g.emitRecord()
	}
}

// program assembles bodies into a program.
func (g *generator) program(bodies []asm.Instructions, filters, site, reads bool) *ebpf.ProgramSpec {
	g.ins = nil
	g.prologue(site, reads)
	starts := make([]string, len(bodies))
	for i := range starts {
		starts[i] = g.newLabel("form")
	}
	if len(bodies) > 1 {
		g.emit(asm.Mov.Reg(asm.R1, regSite), asm.RSh.Imm(asm.R1, 32))
		g.dispatch(starts, 0)
	}
	for i, body := range bodies {
		g.label(starts[i])
		g.emit(body...)
	}
	g.epilogue(filters)
	spec := &ebpf.ProgramSpec{
		Name:         "usdt",
		Type:         g.kind.hook.Type,
		AttachType:   g.kind.hook.Attach,
		Instructions: g.ins,
		License:      kernel.License,
	}
	spec.AttachTo = g.kind.hook.Function
	if g.kind.sleeps {
		spec.Flags |= unix.BPF_F_SLEEPABLE
	}
	return spec
}

// dispatch jumps to the label for the form in R1, which is at least first.
func (g *generator) dispatch(labels []string, first int) {
	if len(labels) == 1 {
		g.emit(asm.Ja.Label(labels[0]))
		return
	}
	half := len(labels) / 2
	upper := g.newLabel("upper")
	g.emit(asm.JGE.Imm(asm.R1, int32(first+half), upper))
	g.dispatch(labels[:half], first)
	g.label(upper)
	g.dispatch(labels[half:], first+half)
}

func (g *generator) emit(ins ...asm.Instruction) {
	for _, in := range ins {
		if g.next != "" {
			if in.Symbol() != "" {
				g.ins = append(g.ins, asm.Ja.Label(in.Symbol()).WithSymbol(g.next))
			} else {
				in = in.WithSymbol(g.next)
			}
			g.next = ""
		}
		g.ins = append(g.ins, in)
	}
}

func (g *generator) newLabel(what string) string {
	g.labels++
	return fmt.Sprintf("%s_%d", what, g.labels)
}

// label names the next instruction.
func (g *generator) label(name string) {
	if g.next != "" {
		g.emit(asm.Ja.Label(name)) // two names for one place
	}
	g.next = name
}

// prologue keeps the context, the site if code needs it, and the place of the counters, and notes that no
// read has failed if there are any.
func (g *generator) prologue(site, reads bool) {
	g.emit(asm.Mov.Reg(regContext, asm.R1))
	g.onlyProcesses()
	g.emit(g.refs.Selected.Only(regContext, stackSlots, "exit")...) // nothing is on the stack yet
	for _, stopped := range []*ebpf.Map{g.refs.Stopped, g.refs.Gate} {
		if stopped != nil {
			g.emit(
				asm.LoadMapValue(asm.R2, stopped.FD(), 0),
				asm.LoadMem(asm.R2, asm.R2, 0, asm.DWord),
				asm.JNE.Imm(asm.R2, 0, "exit"),
			)
		}
	}
	g.noteGroup()
	if site {
		g.emit(asm.FnGetAttachCookie.Call(), asm.Mov.Reg(regSite, asm.R0))
	}
	if reads {
		g.emit(
			asm.StoreImm(asm.R10, stackErrors, 0, asm.Word),
			asm.StoreImm(asm.R10, stackErrors+4, 0, asm.Word),
		)
	}
	g.loadCounters()
}

// onlyProcesses ends the program in processes that are not traced. R7 and R8 hold nothing yet.
func (g *generator) onlyProcesses() {
	if g.refs.Process == nil && g.refs.Processes == nil {
		return
	}
	g.loadTask()
	g.emit(asm.RSh.Imm(asm.R0, 32))
	if g.refs.Process != nil {
		g.emit(process.IsOnly(g.refs.Process, g.refs.Lifetimes, "exit")...)
	} else {
		g.emit(process.InTable(g.refs.Processes, g.refs.Lifetimes, stackKey, "exit")...)
	}
	g.emit(asm.Mov.Reg(asm.R1, regContext)) // as it was before
}

// count adds one to a counter. It uses an atomic because tasks on one CPU may
// preempt each other within the program, and costs as much as a call of a helper.
func (g *generator) count(off int16) { g.add(off, 1) }

// uncount takes away what was counted before it was known that the event is lost.
func (g *generator) uncount(off int16) { g.add(off, -1) }

func (g *generator) add(off int16, n int32) {
	g.emit(
		asm.Mov.Imm(asm.R1, n),
		asm.AddAtomic.Mem(regCounters, asm.R1, asm.DWord, off),
	)
}

// epilogue ends the program; it counts a lost event if jumped to at "lost",
// and a filtered one at "filtered".
func (g *generator) epilogue(filters bool) {
	if filters {
		g.label("filtered")
		g.count(CounterFiltered)
		g.emit(asm.Ja.Label("exit"))
	}
	g.label("lost")
	g.count(CounterLost)
	g.label("exit")
	result := int32(0)
	if g.kind.call {
		result = notReturned
	}
	g.emit(asm.Mov.Imm(asm.R0, result), asm.Return())
}

// exchange swaps src with the 8 bytes at dst+off.
func exchange(dst, src asm.Register, off int16) asm.Instruction {
	in := asm.Xchg.Mem(dst, src, asm.DWord, off)
	// cilium/ebpf v0.22 encodes every atomic operation as an addition, unless
	// the constant says which operation it is (include/uapi/linux/bpf.h:
	// BPF_XCHG).
	in.Constant = 0xe1
	return in
}

// fetchAdd is an addition that no memory access before or after it is moved
// across.
func fetchAdd(dst, src asm.Register, off int16) asm.Instruction {
	in := asm.AddAtomic.Mem(dst, src, asm.DWord, off)
	in.Constant = 0x01 // include/uapi/linux/bpf.h: BPF_ADD | BPF_FETCH
	return in
}
