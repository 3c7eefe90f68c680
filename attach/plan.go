package attach

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/sys"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// Site is what was decided and done about one probe site.
type Site struct {
	Probe reader.Probe
	// PID is the process that the attachment is restricted to, 0 for none.
	PID int
	// Path and Offset are where the uprobe was put, or would have been.
	Path   string
	Offset uint64
	// Attached says whether the site can fire, if there is a process that has it.
	Attached bool
	// Reason is why the site was refused, nil if it was not.
	Reason error
	// ArgErrs are the arguments that programs of a [Collection] cannot read.
	ArgErrs []*ArgError
	// Late is the longest time for which the site may have fired before it was
	// attached to, of sites that were found by [Options.Rescan]; 0 if it cannot
	// have fired.
	Late time.Duration
	// Notes are remarks on how the site was chosen and on what to expect of it.
	Notes []string

	file    procfs.ID // by whose end the site is left; zero if it stays
	order   int       // among all sites of an attachment
	shared  bool      // PID is one of several for which there is one link
	carrier carrier   // of a latency's starts and ends
	opcode  string    // of a function's first instruction, its prefixes included
}

// Plan lists every probe site that a selector named.
type Plan []Site

// clone returns a copy that can be handed out. What probes point to stays shared:
// it does not change.
func (p Plan) clone() Plan {
	out := slices.Clone(p)
	for i := range out {
		out[i].Notes = slices.Clone(out[i].Notes)
		out[i].ArgErrs = slices.Clone(out[i].ArgErrs)
	}
	return out
}

// Attached returns the number of sites that can fire.
func (p Plan) Attached() int {
	n := 0
	for i := range p {
		if p[i].Attached {
			n++
		}
	}
	return n
}

// ErrUnsafe is wrapped by Site.Reason if attaching would harm the traced
// program. [Options.Force] attaches nevertheless.
var ErrUnsafe = errors.New("attaching would corrupt the traced program")

// ErrSilent is wrapped by Site.Reason if the site would never fire, or not in
// every process. [Options.Force] attaches nevertheless.
var ErrSilent = errors.New("the probe would stay silent")

// ErrPanic is wrapped by Site.Reason if attaching could end the host: the sysctl
// kernel.panic_on_warn or kernel.warn_limit is set, and the kernel warns when a
// process is killed while it replaces the site. [Options.Force] attaches nevertheless.
var ErrPanic = errors.New("kernel.panic_on_warn or kernel.warn_limit is set, and the kernel warns if a process is killed meanwhile")

// planner decides what to do about sites on one kernel.
type planner struct {
	optimization sys.Optimization
	panics       bool // warnings of the kernel may end the host
	pageSize     uint64
	force        bool
	objects      objects
	refused      map[string]bool // instructions, by opcode
}

func newPlanner(force bool) *planner {
	return &planner{
		optimization: sys.UprobeOptimization(),
		panics:       sys.PanicsOnWarning(),
		pageSize:     uint64(os.Getpagesize()),
		force:        force,
		objects:      objects{},
	}
}

// objects are the files behind sites, each opened once.
type objects map[string]*operand.Object

func (o objects) open(path string) (*operand.Object, error) {
	if obj := o[path]; obj != nil {
		return obj, nil
	}
	obj, err := operand.OpenObject(path)
	if err == nil {
		o[path] = obj
	}
	return obj, err
}

func (o objects) Close() {
	for _, obj := range o {
		obj.Close()
	}
	clear(o)
}

// plan decides where, and whether, to attach to the site, of which Probe and
// PID are set.
func (pl *planner) plan(s *Site) {
	p := &s.Probe
	s.Path, s.Offset = p.Attachable(), p.Offset
	switch {
	case errors.Is(p.SiteErr, reader.ErrBoundary) && pl.force:
		s.Notes = append(s.Notes, "forced: "+p.SiteErr.Error())
	case errors.Is(p.SiteErr, reader.ErrBoundary):
		s.Reason = fmt.Errorf("%w: %w", p.SiteErr, ErrUnsafe)
		return
	case p.SiteErr != nil:
		s.Reason = p.SiteErr
		return
	}
	if _, err := operand.HostRegisters(p.Machine, p.Class); err != nil {
		s.Reason = err
		return
	}
	obj, err := pl.objects.open(s.Path)
	if err != nil {
		s.Reason = err
		return
	}
	if !p.IsIn(obj.Info) {
		s.Reason = fmt.Errorf("%s is another file than the one that has the probe: it was replaced meanwhile", s.Path)
		return
	}
	pl.planFunction(s, obj)
	if s.Reason == nil && p.Target != nil && p.Displacement() == 0 && p.Target.Convention.IsGo() {
		s.Offset += uint64(behindStackCheck(obj.BytesAt(s.Offset, maxStackCheck), p.Machine))
	}
	if s.Reason == nil && (p.Machine == elf.EM_X86_64 || p.Machine == elf.EM_386) {
		pl.planX86(s, obj)
	}
	if s.Reason == nil {
		pl.planSemaphore(s)
	}
	if pl.force && (errors.Is(s.Reason, ErrUnsafe) || errors.Is(s.Reason, ErrSilent) || errors.Is(s.Reason, ErrPanic)) {
		s.Notes = append(s.Notes, "forced: "+s.Reason.Error())
		s.Reason = nil
	}
}

// fits says that n bytes at off lie in one page: others are never optimised.
func (pl *planner) fits(off uint64, n int) bool { return off%pl.pageSize+uint64(n) <= pl.pageSize }

func (pl *planner) planX86(s *Site, obj *operand.Object) {
	code := obj.BytesAt(s.Offset, len(nop1)+len(nop10))
	is64 := s.Probe.Machine == elf.EM_X86_64 && s.Probe.Class == elf.ELFCLASS64
	stub := s.Probe.Type != nil && s.Probe.Type.Record.Flags&notes.CalledStub != 0
	switch {
	case len(code) == 0:
		s.Reason = fmt.Errorf("offset %#x lies beyond the end of %s", s.Offset, s.Path)
	case code[0] == 0xcc || code[0] == 0xf4: // int3, hlt
		s.Reason = fmt.Errorf("the kernel cannot probe the instruction at the site (byte %#x)", code[0])
	case bytes.HasPrefix(code, nop1):
		pl.planAfterNop(s, code[len(nop1):], is64)
	case bytes.HasPrefix(code, nop10):
		switch {
		case pl.optimization != sys.OptimizesNop10:
			// kernel/events/uprobes.c refuses prefix 0x2e when a process maps the
			// page, and says nothing when none does yet.
			s.Reason = errors.New("the site is a nop10, which this kernel cannot probe")
		case pl.panics && is64 && pl.fits(s.Offset, len(nop10)):
			s.Reason = fmt.Errorf("the site is a nop10, which this kernel replaces by a call: %w", ErrPanic)
		}
	case isNop5(code):
		switch {
		case !is64 || pl.optimization != sys.OptimizesNop5:
		case !pl.fits(s.Offset, len(nop5)):
			s.Notes = append(s.Notes, "nop5 across two pages: slower, since the kernel does not optimise it")
		case pl.panics:
			s.Reason = fmt.Errorf("the site is a nop5, which this kernel replaces by a call: %w", ErrPanic)
		case stub:
			s.Notes = append(s.Notes, "nop5 in a called stub: optimised by the kernel")
		case s.Probe.Target != nil:
			// Nothing of the caller's lies below the stack pointer.
			s.Reason = fmt.Errorf("the function begins with a nop5, which this kernel replaces by a call, and forked children crash there: %w", ErrUnsafe)
		default:
			s.Reason = fmt.Errorf("the site is a nop5, which this kernel replaces by a call that overwrites data below the stack pointer, and forked children crash: %w", ErrUnsafe)
		}
	case s.Probe.Target != nil:
		pl.planEntry(s, code, is64)
	}
}

// planAfterNop chooses between the one-byte nop of a site and a longer nop
// behind it.
func (pl *planner) planAfterNop(s *Site, behind []byte, is64 bool) {
	switch {
	case !is64:
	case bytes.HasPrefix(behind, nop5) && pl.optimization == sys.OptimizesNop5:
		s.Notes = append(s.Notes, "nop,nop5: stays on the nop, since this kernel's optimisation of nop5 is unsafe")
	case bytes.HasPrefix(behind, nop10) && pl.optimization == sys.OptimizesNop10 && pl.panics:
		s.Notes = append(s.Notes, "nop,nop10: stays on the nop, since kernel.panic_on_warn or kernel.warn_limit is set, and this kernel may warn when it optimises")
	case bytes.HasPrefix(behind, nop10) && pl.optimization == sys.OptimizesNop10 && pl.fits(s.Offset+1, len(nop10)):
		s.Offset++
		s.Notes = append(s.Notes, "nop,nop10: on the nop10, which the kernel optimises")
	}
}

// planSemaphore refuses sites whose semaphore would not count.
func (pl *planner) planSemaphore(s *Site) {
	err := s.Probe.SemaphoreErr
	switch {
	case err == nil:
	case errors.Is(err, reader.ErrBss) && s.PID != 0 && s.Probe.SemaphoreOffset != 0:
		s.Notes = append(s.Notes, err.Error()+": armed as long as the process runs")
	default:
		s.Reason = fmt.Errorf("%w: %w", err, ErrSilent)
	}
}
