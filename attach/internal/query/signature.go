package query

import (
	"slices"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
)

// Signature is all that the code for a site depends on. Sites with equal
// signatures, see [Signature.Equal], share code.
type Signature struct {
	// Layout is the layout of the records. The bytes in front of their strings
	// are also assembled for conditions and aggregates.
	record.Layout
	Hook      Hook              // the hook that the program needs
	Operands  []operand.Operand // the operands that the slots hold
	BlockBase operand.Location  // where an address is; the block is BlockDisp bytes further
	BlockDisp int32
	// Return is where the return address is, if Stack.Entry. If Frame is not 0, the function
	// may have a frame, to which FramePointer then leads: Frame.
	Return, Frame operand.Operand
	FramePointer  operand.Location
	// Alone says that the kernel does not find the return address itself, so that an equal
	// one behind it is another frame's.
	Alone bool
	// StackPointer is where it is in the context, if Stack.Copied.
	StackPointer int16

	// Condition is the condition for events, nil for all, and Inputs are the values
	// that it compares: a Value's Index is one of Inputs.
	Condition *filter.Condition
	Inputs    []Input
	Groups    Groups // names control groups that the condition compares
	// IP is where the context has the address of the site, for faults of the condition.
	IP int16

	// Sample is N to record one in N of the events that pass, by chance; 0 and 1 mean all.
	Sample int

	// Signal is sent to the process of each event that is recorded, and only as many are.
	Signal Signal

	// Omit is what nobody asked for.
	Omit Omit

	Aggregate *Aggregate // nil to record events

	// AtReturn is what the program does at the return from the function at whose entry it is a start:
	// the end of the same call. It is nil for a program that runs at one of the two.
	AtReturn *Signature

	conditions string // key of Condition, once it has been asked for
}

// DropUnneeded leaves only reads that the condition or the aggregate needs.
func (s *Signature) DropUnneeded() {
	needed := make([]bool, len(s.Operands))
	block := false
	need := func(in *Input) {
		switch {
		case in.Source == InputOperand:
			needed[in.Index] = true
		case in.InBlock(), in.Source == InputString && in.String.Sized:
			block = true
			if in.Source == InputGoAddr {
				needed[shape.IPv4Slot] = true
			}
		case in.Source == InputString:
			needed[in.String.Slot] = true
			if in.String.Counted {
				needed[in.String.LengthSlot] = true
			}
		}
	}
	for i := range s.Inputs {
		need(&s.Inputs[i])
	}
	for in := range s.Aggregate.Inputs {
		need(in)
	}
	for i := range slices.Backward(s.Operands) { // each needs earlier ones
		if needed[i] {
			for _, slot := range s.Operands[i].Needs() {
				needed[slot] = true
			}
		}
	}
	for i := range s.Operands {
		if !needed[i] {
			s.Operands[i] = operand.Operand{}
		}
	}
	s.Strings = nil
	s.dropIndirects()
	if s.Aggregate.StackPart() == nil {
		s.DropTail()
	}
	if !block {
		s.Block, s.BlockBase, s.BlockDisp = 0, operand.Location{}, 0
	}
}

// dropIndirects leaves out memory that is neither needed nor on the way to what
// is.
func (s *Signature) dropIndirects() {
	needed := make([]bool, len(s.Indirects))
	var mark func(off uint32)
	mark = func(off uint32) {
		if i := s.RegionRead(off) - s.BlockRead() - 1; i >= 0 && !needed[i] {
			needed[i] = true
			mark(s.Indirects[i].Pointer)
		}
	}
	need := func(in *Input) {
		switch {
		case in.InBlock():
			mark(in.Offset)
		case in.Source == InputString && in.String.Sized:
			mark(in.String.Length)
		}
	}
	for i := range s.Inputs {
		need(&s.Inputs[i])
	}
	for in := range s.Aggregate.Inputs {
		need(in)
	}
	for i := range needed {
		if !needed[i] {
			s.Indirects[i].Size = 0 // the others keep their places
		}
	}
}

// Read adds an operand to the records and returns its slot. The slot of a register has the whole word, and
// the field knows how much of it is the value: sites that differ in nothing else share code.
func (s *Signature) Read(op operand.Operand) (slot int) {
	if op.Kind == operand.Register {
		op.Size = 8
	}
	s.Operands = append(s.Operands, op)
	s.Slots = len(s.Operands)
	return s.Slots - 1
}

// OfCall returns the signature of a program that runs at the entry of a function, as s does, and at its
// return, as end does. attachment is its attach type.
func (s *Signature) OfCall(end *Signature, attachment ebpf.AttachType) *Signature {
	both := *s
	both.AtReturn, both.Hook.Attach = end, attachment
	return &both
}

// Parts returns what the program does: one thing, or one at the entry and one at the return.
func (s *Signature) Parts() []*Signature {
	if s.AtReturn == nil {
		return []*Signature{s}
	}
	return []*Signature{s, s.AtReturn}
}

// Hook says what the kernel requires of programs that a link runs.
type Hook struct {
	Type   ebpf.ProgramType
	Attach ebpf.AttachType // 0 for perf events
	Sleeps bool            // programs may have memory brought in that is not resident
	// Kernel says that the site is in the kernel: pointers may lead to its memory.
	Kernel bool
	// Record is where the record of a tracepoint ends, 0 for other sites. The kernel attaches a program only
	// to tracepoints whose records have all that it may load.
	Record int
	// Function is the name in BTF of the only function of the kernel that programs can be attached to;
	// empty if there may be many.
	Function string
}

// HasRegisters reports whether the context of programs begins with registers.
func (h *Hook) HasRegisters() bool { return h.Type == ebpf.Kprobe }

// ByTrampoline reports whether a trampoline calls programs: their context has no registers.
func (h *Hook) ByTrampoline() bool { return h.Type == ebpf.Tracing }

// FiltersEarly reports whether the condition is tested before anything is read: it
// compares nothing but what registers hold and what is known of the task. An event that
// does not pass costs least then. Starts and ends are matched all the same, so theirs is
// tested later.
func (s *Signature) FiltersEarly() bool {
	if s.Aggregate != nil && s.Aggregate.Role != RoleNone {
		return false
	}
	for i := range s.Inputs {
		switch in := &s.Inputs[i]; in.Source {
		case InputConstant, InputRegister:
		case InputOperand:
			if s.Operands[in.Index].Kind == operand.Memory {
				return false
			}
		default:
			if !in.Source.ofTask() {
				return false
			}
		}
	}
	return true
}

// NamesSite reports whether the code needs to know which site fired: a record says so,
// and so may a key, or a group's stack.
func (s *Signature) NamesSite() bool {
	if s.Aggregate == nil || s.Aggregate.Whole {
		return true
	}
	for in := range s.Aggregate.Inputs {
		if in.Source == InputProbe || in.Source == InputStack {
			return true
		}
	}
	return false
}

// Filters reports whether a condition, sampling, or a lack of signals may reject an event. A start is
// kept even then.
func (s *Signature) Filters() bool {
	if s.Aggregate == nil || s.Aggregate.Role == RoleNone {
		return s.Condition != nil || s.Sample > 1 || s.Signal != 0
	}
	return s.Aggregate.Role == RoleEnd
}
