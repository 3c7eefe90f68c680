package bind

import (
	"debug/elf"
	"errors"
	"fmt"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// unmatched returns why a site's starts and ends cannot be matched without a key.
func unmatched(format string, args ...any) error {
	return fmt.Errorf("%w: %s: name a key that matches starts and ends (--key, Latency.Key)", query.ErrAggregation, fmt.Sprintf(format, args...))
}

// calls reports whether the starts are entries of functions and the ends returns
// from the same functions.
func (l *PairLayout) calls() bool {
	end := l.End
	end.Kind = end.Kind.Entry()
	return l.End.Kind.IsReturn() && l.Start.Kind == end.Kind && l.Start.String() == end.String()
}

// KernelCalls reports whether these functions are the kernel's, whose returns have a stack pointer.
func (l *PairLayout) KernelCalls() bool {
	return l.Start.Kind.InKernel() && !l.Start.Kind.ByTrampoline() && l.calls()
}

// carrierOf returns the carrier of code at the site.
func (l *PairLayout) carrierOf(s *site.Site, programs map[int]bool) (site.Carrier, error) {
	p := &s.Probe
	if s.Saved != nil {
		return l.savedCarrier(s)
	}
	word64 := p.Class == elf.ELFCLASS64
	switch {
	case p.Kind.InKernel() && l.calls():
		return site.ByFrame, nil
	case p.Kind.InKernel():
		return site.ByThread, nil
	case p.Target != nil && p.Target.Convention.IsGo():
		// Functions of ABI0 do not keep the goroutine in its register, except on
		// arm64, where the register holds nothing else.
		if word64 && (p.Target.Convention == reader.GoRegisters || p.Machine == elf.EM_AARCH64) {
			if l.calls() {
				return site.ByFrame, nil
			}
			return site.ByGoroutine, nil
		}
		return site.NoCarrier, unmatched("%s is a Go function that does not keep its goroutine in a register", site.Name(p))
	case p.Target != nil && l.calls() && word64:
		return site.ByFrame, nil
	case p.Type != nil && p.Type.Record.Flags&notes.GoroutineRegister != 0 && word64:
		return site.ByGoroutine, nil
	case p.IsGo():
		return site.NoCarrier, unmatched("%s is in a Go program, whose goroutines change threads, and does not record its goroutine", site.Name(p))
	}
	if pid := s.Process(); pid != 0 && runsGo(pid, programs) {
		return site.NoCarrier, unmatched("%s fires in process %d, a Go program, whose goroutines change threads, and does not record its goroutine", site.Name(p), pid)
	}
	return site.ByThread, nil
}

// runsGo reports whether the process is a Go program, and keeps the answer in
// programs.
func runsGo(pid int, programs map[int]bool) bool {
	if is, ok := programs[pid]; ok {
		return is
	}
	f, err := reader.Open(fmt.Sprintf("/proc/%d/exe", pid))
	if err == nil {
		programs[pid] = f.IsGo()
		f.Close()
	}
	return programs[pid]
}

// carried are the carriers of starts and of ends.
type carried [2][site.Carriers]bool

var none [site.Carriers]bool

// agree reports whether starts and ends are matched by the same carriers.
func (c *carried) agree() bool { return c[0] == c[1] || c[0] == none || c[1] == none }

// overlap reports whether an end may find a start at all.
func (c *carried) overlap() bool {
	for i := range c[0] {
		if c[0][i] && c[1][i] {
			return true
		}
	}
	return c[0] == none || c[1] == none
}

// function is a function in a process.
type function struct {
	path    string
	pid     int
	address uint64
}

// callee returns the function of a site.
func callee(s *site.Site) function {
	if s.Probe.Kind.InKernel() {
		return function{address: s.Probe.Location}
	}
	return function{s.Probe.Path, s.PID, s.Probe.Target.Address}
}

// carry decides by which carriers the sites of plan are matched. It refuses sites
// whose carrier is not known, or differs from that of the other half of the pair
// in the same process.
func (l *PairLayout) carry(plan site.Plan) {
	unreturned := map[function]error{}
	for i := range plan {
		s := &plan[i]
		if !l.calls() || !s.Probe.Kind.IsReturn() {
			continue
		}
		if s.Reason == nil && s.Probe.AtRET && s.Probe.Displacement() == 0 {
			s.Reason = errors.New("the function begins with its return: the probes at its entry and its return fire in no order")
		}
		if s.Reason != nil {
			unreturned[callee(s)] = s.Reason
		}
	}
	if l.Key != nil {
		return
	}
	programs, processes := map[int]bool{}, map[int]*carried{}
	for i := range plan {
		s := &plan[i]
		if s.Reason != nil {
			continue
		}
		role, err := l.role(&s.Probe)
		if err == nil {
			s.Carrier, err = l.carrierOf(s, programs)
		}
		if err != nil {
			s.Reason = &Misfit{err}
			continue
		}
		if role == query.RoleStart && (s.Probe.Target != nil || s.Probe.Kind.InKernel()) && unreturned[callee(s)] != nil {
			s.Reason = fmt.Errorf("its return is not traced: %w", unreturned[callee(s)])
			continue
		}
		pid := s.Process()
		if processes[pid] == nil {
			processes[pid] = &carried{}
		}
		processes[pid][role-query.RoleStart][s.Carrier] = true
		l.carried[role-query.RoleStart][s.Carrier] = true
	}
	for i := range plan {
		s := &plan[i]
		if s.Reason == nil && (!processes[s.Process()].agree() || !l.carried.overlap()) {
			s.Reason = &Misfit{unmatched("%s is matched by its %v, and the other probe of the pair by something else", site.Name(&s.Probe), s.Carrier)}
		}
	}
}

// carrierInputs returns the two words that identify a carrier among all
// processes: the thread and the place of the frame for threads and calls, the
// process and the goroutine's address for goroutines, and the process and what
// says the goroutine and the frame for calls in Go.
//
// returned is what has to be added to the stack pointer at the kernel's returns.
func carrierInputs(c site.Carrier, p *reader.Probe, regs *operand.Registers, returned int64) (words [2]query.Input, err error) {
	word := func(source query.Source) query.Input {
		return query.Input{Source: source, Kind: reader.Uint, Size: 8}
	}
	register := func(name string, add int64) (in query.Input, err error) {
		off, ok := regs.ByName[name]
		if !ok {
			return in, errors.New("register " + name + " cannot be read by a BPF program")
		}
		in = word(query.InputRegister)
		in.Offset, in.Value = uint32(off), uint64(add)
		return in, nil
	}
	arm := p.Machine == elf.EM_AARCH64
	switch c {
	case site.ByGoroutine:
		words[0] = query.Input{Source: query.InputPID, Kind: reader.Uint, Size: 4}
		name := "r14"
		if arm {
			name = "x28"
		}
		words[1], err = register(name, 0)
	case site.ByFrame:
		words[0] = word(query.InputThread)
		switch {
		case p.Kind.ByTrampoline():
			words[1] = word(query.InputFunction)
		case p.Kind.InKernel():
			name := "rsp"
			if arm {
				name = "sp"
			}
			if !p.Kind.IsReturn() {
				returned = 0
			}
			words[1], err = register(name, returned)
		case p.Target.Convention.IsGo():
			words[0], words[1] = query.Input{Source: query.InputPID, Kind: reader.Uint, Size: 4}, word(query.InputGoCall)
		case arm:
			words[1], err = register("sp", 0)
		case !p.Kind.IsReturn(), p.AtRET:
			words[1], err = register("rsp", 8) // as after the return, which pops its address
		default:
			words[1], err = register("rsp", 0)
		}
	default:
		words[0], words[1] = word(query.InputThread), word(query.InputConstant)
	}
	return words, err
}

// recordCarrier records the register that identifies the carrier of code at a site,
// unless it is recorded already. Fields with a place in the record, such as blocks, are bound
// afterwards.
func (b *Binder) recordCarrier(sc *Schema, s *site.Site, regs *operand.Registers) {
	matched := b.Recorded && b.Aggregate != nil && b.Aggregate.Pairs != nil && b.Aggregate.Pairs.Key == nil
	if !matched && !b.Keep || sc.Carrier >= 0 {
		return
	}
	if sc.carrier = s.Carrier; b.Keep && (s.Carrier == site.NoCarrier || sc.Sig.Reads() >= record.MaxReads-1) {
		return
	}
	returned := int64(0)
	if matched {
		returned = b.Aggregate.Pairs.KernelReturn
	}
	words, err := carrierInputs(s.Carrier, &s.Probe, regs, returned)
	if err != nil {
		return // bindPair says so
	}
	switch in := &words[1]; in.Source {
	case query.InputRegister:
		sc.Carrier = sc.Sig.Read(operand.Operand{
			Kind: operand.Address, Size: 8, HasBase: true, Base: operand.Location{Off: int16(in.Offset)}, Disp: int64(in.Value),
		})
	case query.InputGoCall, query.InputFunction:
		sc.Carrier = sc.Sig.Read(operand.Operand{Kind: operand.Task, Size: 8, Value: uint64(in.Source)})
	}
}
