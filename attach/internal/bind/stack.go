package bind

import (
	"debug/elf"
	"errors"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// OwnFrames is the largest number of frames that package provider and its stub have on
// the stack when one of its probes fires.
const OwnFrames = 10

var (
	errNoStacks   = errors.New("flight recorders keep no stacks, by which events could be grouped")
	errNotStacked = errors.New("the events were recorded without their stacks, by which they could be grouped: record with --stack")
)

// stackPart returns the part of a key that stands for the stack.
func (s *Schema) stackPart() (query.Part, error) {
	part := query.Part{Size: 8, In: query.Input{Source: query.InputStack, Kind: reader.Other, Size: 8}}
	switch {
	case s.Sig.Stack.Most > 0:
		return part, nil
	case s.saved:
		return part, errNotStacked
	}
	return part, errNoStacks
}

// bindStack describes the stack that records hold.
func (b *Binder) bindStack(sc *Schema, s *site.Site, regs *operand.Registers) {
	if b.Stack == 0 || s.Recorded.Kept {
		return
	}
	p := &s.Probe
	st := &sc.Sig.Stack
	st.Most, st.Returns = b.Stack, s.Local
	if p.Kind.InKernel() {
		st.Kernel = st.Most
		return
	}
	if p.Type != nil && p.Type.Record.Flags&notes.GoroutineRegister != 0 {
		st.Own = OwnFrames
		st.Most += st.Own
	}
	if b.Unwind && !s.Local && p.Class == elf.ELFCLASS64 {
		st.Copied, st.Registers = query.StackCopy, 8*21 // struct pt_regs
		sc.Sig.StackPointer = regs.ByName["rsp"]
		if p.Machine == elf.EM_AARCH64 {
			st.Registers, sc.Sig.StackPointer = 8*34, regs.ByName["sp"] // struct user_pt_regs
		}
		return
	}
	b.callerOf(s).read(sc.Sig, p, regs)
}
