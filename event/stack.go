package event

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/go-usdt/usdt/internal/decode/hook"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/symbols"
)

// Stack is the calls that led to a probe.
type Stack struct {
	// PCs has addresses of code, the innermost first: the instruction that ran, and then the
	// addresses to which calls return. Where a probe is in the kernel, that is so of the kernel's
	// addresses, in the upper half of all, and then again of the process's. If the probe was declared by package provider, whose
	// own frames are left out, all are addresses to which calls return.
	PCs []uint64
	// Err says why there are none, or why callers are missing behind the last one; nil if
	// the stack is whole, as far as frame pointers and names tell.
	Err error

	code  hook.Code
	named []symbols.Frame   // if code is not needed any more
	saved [][]symbols.Frame // of each address, if it was named when it was recorded

	kernel int   // how many addresses, the first ones, are the kernel's; the rest is of those behind:
	calls  bool  // whether a call also returns to the first address
	exact  []int // indices of addresses at which signals interrupted functions
	own    bool  // whether the first frames may belong to package provider
}

// Frames returns the functions on the stack, the innermost first: at least one for each address
// of PCs, and more where functions are inlined. It names code as the process has it mapped now
// or, if it has ended, as the session has last seen it or the kernel has reported it, so it is
// best called soon after the event. If the names are too long for a stack, the outermost frames
// are left out, and Err says so from then on.
func (s *Stack) Frames() []symbols.Frame { return s.AppendFrames(nil) }

// AppendFrames appends to dst what Frames returns.
func (s *Stack) AppendFrames(dst []symbols.Frame) []symbols.Frame {
	if s.named != nil {
		return append(dst, s.named...)
	}
	left := shape.StackText(len(s.PCs))
	for i := range s.PCs {
		for _, f := range s.at(i) {
			if left -= shape.FrameText + len(f.Func) + len(f.File) + len(f.Module) + len(f.BuildID); left < 0 {
				s.Err = errLong
				return dst
			}
			dst = append(dst, f)
		}
	}
	return dst
}

// errLong says why frames are missing. Files, and recordings, can say that any number of
// functions with long names run at each address.
var errLong = errors.New("its functions have more, or longer, names than a stack has room for")

// AppendMarked appends to dst what Frames returns, and if callers are missing behind the last
// frame, one more whose Func says so: "[truncated: WHY]". It is for code that adds up stacks.
func (s *Stack) AppendMarked(dst []symbols.Frame) []symbols.Frame {
	dst = s.AppendFrames(dst)
	if len(s.PCs) > 0 && s.Err != nil {
		dst = append(dst, symbols.Frame{Func: "[truncated: " + s.Err.Error() + "]"})
	}
	return dst
}

// at returns the functions that run at address i.
func (s *Stack) at(i int) []symbols.Frame {
	if s.saved != nil {
		return s.saved[i]
	}
	names := s.names(s.PCs[i], i)
	if i == 0 && s.own {
		for n := len(names) - 1; n > 0; n-- { // Fire, inlined, and its closure, which has its caller's name
			if isOwn(&names[n-1]) {
				return names[n:]
			}
		}
	}
	return names
}

func (s *Stack) names(pc uint64, i int) []symbols.Frame {
	if s.code == nil {
		return []symbols.Frame{{Address: pc}}
	}
	if i < s.kernel {
		return s.code.Names(pc, i > 0)
	}
	i -= s.kernel
	return s.code.Names(pc, (i > 0 || s.calls) && !slices.Contains(s.exact, i))
}

func namedStack(calls symbols.Calls, st *record.Stack, code hook.Code) *Stack {
	s := &Stack{PCs: calls.PCs, Err: calls.Cut, exact: calls.Exact, calls: st.Returns, own: st.Own > 0, code: code}
	for st.Kernel > 0 && s.kernel < len(s.PCs) && s.PCs[s.kernel]>>63 != 0 {
		s.kernel++
	}
	s.limit(st)
	s.named, s.code = s.AppendFrames([]symbols.Frame{}), nil
	return s
}

func dropUnmapped(s *Stack) {
	last := len(s.named) - 1
	for last >= 0 && s.named[last].Module == "" && s.named[last].Func == "" {
		last--
	}
	if drop := len(s.named) - 1 - last; last >= 0 { // each of an address of its own, unless a file says otherwise
		s.named, s.PCs = s.named[:last+1], s.PCs[:max(0, len(s.PCs)-drop)]
	}
}

// ownPackages are the packages whose frames are on top of the stack when a probe
// that is declared in Go fires.
var ownPackages = []string{"provider", "internal/stub", "internal/ring"}

const modulePath = "github.com/go-usdt/usdt/"

// isOwn reports whether a frame belongs to the code that fires probes.
func isOwn(f *symbols.Frame) bool {
	rest, ok := strings.CutPrefix(f.Func, modulePath)
	if !ok {
		return false
	}
	for _, pkg := range ownPackages {
		if name, ok := strings.CutPrefix(rest, pkg); ok && strings.HasPrefix(name, ".") {
			return true
		}
	}
	return false
}

// stackOf returns the stack in a record, in memory if there is room.
func (d *decoder) stackOf(r record.Record, st *record.Stack, p *reader.Probe, memory *[]uint64) Stack {
	if st.Saved {
		return d.savedStack(r, st)
	}
	s := Stack{calls: st.Returns, own: st.Own > 0}
	kernel, kernelErr := st.AppendKernel((*memory)[:0], r)
	s.kernel = len(kernel)
	if st.Copied > 0 {
		var calls symbols.Calls
		calls, s.Err = d.unwind(kernel, &s, r, st, p)
		s.PCs, s.exact, s.Err = calls.PCs, calls.Exact, cmp.Or(s.Err, calls.Cut)
	} else {
		s.PCs, s.Err = st.Append(kernel, r)
		if d.code != nil {
			s.code = d.code(r.PID(), p, s.PCs)
		}
	}
	*memory = s.PCs
	s.limit(st)
	if s.kernel > 0 && s.kernel == len(s.PCs) && errors.Is(s.Err, noProgram) {
		s.Err = nil // a thread of the kernel
	}
	s.Err = cmp.Or(s.Err, kernelErr)
	return s
}

// noProgram is the kernel's error for the program's part of a stack if there is none: EFAULT.
const noProgram = syscall.Errno(14)

// limit leaves out the code that fired the probe, and what is beyond the number of calls
// that is wanted. Where the kernel read as many addresses as it was to, there may be more.
func (s *Stack) limit(st *record.Stack) {
	all, kernel := s.PCs, s.kernel
	if kernel == 0 {
		s.limitProgram(st)
		return
	}
	s.PCs, s.kernel = all[kernel:], 0
	if len(s.PCs) > 0 {
		s.limitProgram(st)
	}
	s.PCs, s.kernel = all[:kernel+len(s.PCs)], kernel
	if most := min(st.Most, st.Kernel); kernel >= most || len(all) > st.Most {
		s.cut(most)
		s.kernel = min(kernel, len(s.PCs))
	}
}

// limitProgram limits a stack without the kernel's part.
func (s *Stack) limitProgram(st *record.Stack) {
	full := len(s.PCs) >= st.Most && st.Copied == 0 && !s.outermost()
	if end := slices.IndexFunc(s.PCs, symbols.NoCode); end > 0 && st.Copied == 0 {
		s.PCs, s.Err, full = s.PCs[:end], errNoFrame, false
	}
	if s.own {
		s.dropOwn(st)
	}
	if st.Copied == 0 && s.Err == nil && !full && !s.begins() {
		s.Err = errNoStart
	}
	if most := max(st.Most-st.Own, 0); full || len(s.PCs) > most {
		s.cut(most)
	}
}

// errNoFrame says why callers are missing. It does not name the word that was taken for an
// address, which may be another each time.
var errNoFrame = errors.New("frame pointers lead on to what is no code: a caller was compiled without them, --stack=dwarf does without")

// errNoStart says that the kernel came to the end of frame pointers too early.
var errNoStart = errors.New("frame pointers end before the thread's start: a caller was compiled without them, --stack=dwarf does without")

// starts are the functions with which threads, and stacks of their own, start, where names tell.
var starts = []string{
	"main", "_start", "_start_c", "__libc_start_main", "__libc_start_call_main", "libc_start_main_stage2",
	"start_thread", "start", "start_c", "thread_start", "clone", "clone3", "__clone", "__clone3", "__start_context",
	"runtime.goexit", "runtime.mstart", "runtime.rt0_go", "runtime.mcall",
}

// outermost reports whether the last function is one that nothing calls.
func (s *Stack) outermost() bool {
	if len(s.PCs) == 0 {
		return false
	}
	names := s.names(s.PCs[len(s.PCs)-1], len(s.PCs)-1)
	name := strings.TrimSuffix(names[len(names)-1].Func, ".abi0")
	return slices.Contains(uncalled, name)
}

// uncalled are the functions with which a thread begins: nothing calls them.
var uncalled = []string{"_start", "clone", "clone3", "__clone", "__clone3", "__start_context", "runtime.goexit"}

// begins reports whether the outermost function whose code is mapped starts a thread, as far as
// its name is known.
func (s *Stack) begins() bool {
	for i := len(s.PCs) - 1; i >= 0; i-- {
		names := s.names(s.PCs[i], i)
		if f := &names[len(names)-1]; f.Func != "" {
			return slices.Contains(starts, strings.TrimSuffix(f.Func, ".abi0"))
		} else if f.Module != "" {
			return true
		}
	}
	return true
}

// cut leaves out what is beyond a number of calls.
func (s *Stack) cut(most int) {
	s.PCs = s.PCs[:min(len(s.PCs), most)]
	s.Err = fmt.Errorf("no more than %d calls are read", most)
}

// errNoCode says that nobody knows what the process had mapped.
var errNoCode = errors.New("nothing says what the process had mapped, which unwinding needs")

// unwind appends the addresses to which a copy of the stack leads to dst.
func (d *decoder) unwind(dst []uint64, s *Stack, r record.Record, st *record.Stack, p *reader.Probe) (symbols.Calls, error) {
	registers, stack, err := st.Copy(r)
	if err != nil {
		return symbols.Calls{PCs: dst}, err
	}
	regs, err := symbols.NewRegisters(p.Machine, registers)
	if err != nil {
		return symbols.Calls{PCs: dst}, err
	}
	kernel := len(dst)
	dst = append(dst, regs.PC())
	if d.code != nil {
		s.code = d.code(r.PID(), p, dst)
	}
	if s.code == nil {
		return symbols.Calls{PCs: dst}, errNoCode
	}
	return s.code.Unwind(dst[:kernel], regs, stack), nil
}

// dropOwn leaves out the frames of the code that fired the probe: its stub, and then
// functions of package provider.
func (s *Stack) dropOwn(st *record.Stack) {
	own := 0
	if !s.calls && len(s.PCs) > 0 {
		own, s.calls = 1, true
	}
	for own < min(len(s.PCs), st.Own+1) {
		names := s.names(s.PCs[own], own)
		if last := &names[len(names)-1]; !isOwn(last) && !(strings.Contains(last.Func, closureOfFire) && s.callsBack(own+1)) {
			break
		}
		own++
	}
	s.PCs = s.PCs[own:]
	for i := range s.exact {
		s.exact[i] -= own
	}
}

// closureOfFire is in the names of closures of Fire, whatever they are inlined into.
const closureOfFire = ".Fire."

// callsBack reports whether the code of an address called what precedes it for package provider:
// the closure of Fire, which has the name of the function into which Fire is inlined.
func (s *Stack) callsBack(i int) bool {
	if i >= len(s.PCs) {
		return false
	}
	first := s.names(s.PCs[i], i)[0].Func
	return first == modulePath+"provider.when"
}

func (d *decoder) decodeStack(ev *Event, r record.Record, s *shape.Shape) {
	if st := &s.Layout.Stack; st.Most > 0 {
		var memory []uint64
		stack := d.stackOf(r, st, ev.Probe, &memory)
		ev.Stack = &stack
	}
}

func (e *Event) appendStack(dst []byte) []byte {
	if e.Stack == nil {
		return dst
	}
	dst = e.Stack.AppendJSON(append(dst, `,"stack":`...))
	return e.Stack.AppendError(dst)
}

// setStack sets the stack to what JSON has of it.
func (e *Event) setStack(m *stackMembers) error {
	if m.Stack == nil {
		return nil
	}
	e.Stack = &Stack{}
	if err := e.Stack.unmarshal(m.Stack); err != nil {
		return fmt.Errorf("decode the stack of an event: %w", err)
	}
	if why := m.Truncated + m.StackError; why != "" {
		e.Stack.Err = errors.New(why)
	}
	return nil
}

// stackMembers are the members of JSON that a stack has.
type stackMembers struct {
	Stack      json.RawMessage
	Truncated  string
	StackError string `json:"stack_error"`
}

func (d *decoder) NameCode(code func(pid int, p *reader.Probe, pcs []uint64) hook.Code) {
	d.code = code
}

// Stack returns the calls that led to the probe, with addresses that are valid as long as
// the view is; nil if the session does not ask for stacks.
func (v *View) Stack() *Stack {
	st := &v.shape.Layout.Stack
	if st.Most == 0 {
		return nil
	}
	v.stack = v.decoder.stackOf(v.reading.rec, st, v.probe, &v.pcs)
	return &v.stack
}
