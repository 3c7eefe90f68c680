package plan

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/sys"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// Decision is what was decided about a site.
type Decision struct {
	Path   string // of the file, as passed to the kernel
	Offset uint64 // of the uprobe in the file
	Reason error  // why the site is refused, nil if it is not
	Notes  []string

	// Opcode is the opcode of the instruction at a function's site, with its
	// prefixes, "" if it is not known: the kernel's answer to one instruction
	// holds for all with that opcode.
	Opcode string
}

// Planner decides about sites on one kernel. Its Objects stay open until the kernel
// has attached.
type Planner struct {
	Objects operand.Objects

	force        bool
	optimization sys.Optimization
	panics       bool // warnings of the kernel may end the host
	pageSize     uint64
	try          func(code []byte) (refused bool)
	refused      map[opcodeKey]bool         // instructions
	switches     map[*operand.Object]string // see switchesStacks
	switching    map[int]string             // by process
	switchFiles  map[procfs.ID]bool
	throwers     map[*operand.Object]thrower
	processes    map[int]process // see processOf
	unwinders    map[procfs.ID]unwinder
	site         site // the last one, not one for each of a hundred thousand
	shared       map[*operand.Object]map[uint64][]notes.Note
	taken        map[takenSite]*reader.Probe
	copier       map[*operand.Object]string // what copies code in an object, "" for nothing
	preloads     map[int]string             // and in a process
	colds        map[*operand.Object][]cold
	restartable  map[*operand.Object][]sequence
	mappings     map[int][]procfs.Mapping // of processes
	translated   map[procfs.ID]translator // files, by processes of the machine; nil until asked for
}

// New returns a Planner. With force it accepts sites where attaching does harm,
// or that would be silent. It calls try to ask the kernel whether it refuses the
// instruction with which code begins.
func New(force bool, try func(code []byte) (refused bool)) *Planner {
	return &Planner{
		Objects:      operand.Objects{},
		force:        force,
		optimization: sys.UprobeOptimization(),
		panics:       sys.PanicsOnWarning(),
		pageSize:     uint64(os.Getpagesize()),
		try:          try,
		shared:       map[*operand.Object]map[uint64][]notes.Note{},
		taken:        map[takenSite]*reader.Probe{},
		switches:     map[*operand.Object]string{},
		switching:    map[int]string{},
		switchFiles:  map[procfs.ID]bool{},
		throwers:     map[*operand.Object]thrower{},
		processes:    map[int]process{},
		unwinders:    map[procfs.ID]unwinder{},
		copier:       map[*operand.Object]string{},
		preloads:     map[int]string{},
		colds:        map[*operand.Object][]cold{},
		restartable:  map[*operand.Object][]sequence{},
		mappings:     map[int][]procfs.Mapping{},
	}
}

// site is a site during the decision about it.
type site struct {
	Decision
	probe  *reader.Probe
	pid    int // 0 for all processes
	object *operand.Object
}

// Plan decides about the probe, in one process unless pid is 0.
func (pl *Planner) Plan(p *reader.Probe, pid int) Decision {
	s := &pl.site
	*s = site{Decision: Decision{Path: p.Attachable(), Offset: p.Offset}, probe: p, pid: pid}
	switch {
	case p.Kind.InKernel(): // the kernel itself knows where it can be traced
		if p.Kernel != nil && p.Kernel.Uncertain {
			s.note("the kernel has several functions of this name, and does not say which of them can be traced")
		}
		if s.Reason = p.SiteErr; p.Kernel != nil && p.Kind.ByTrampoline() {
			s.Reason = p.Kernel.Types().NoTrampoline
		}
		s.Path = ""
		return s.Decision
	case errors.Is(p.SiteErr, reader.ErrBoundary) && pl.force:
		s.note("forced: " + p.SiteErr.Error())
	case errors.Is(p.SiteErr, reader.ErrBoundary):
		s.Reason = fmt.Errorf("%w: %w", p.SiteErr, ErrUnsafe)
		return s.Decision
	case p.SiteErr != nil:
		s.Reason = p.SiteErr
		return s.Decision
	}
	if s.Reason = pl.open(s); s.Reason != nil {
		return s.Decision
	}
	for _, check := range kindOf(p).checks {
		if check(pl, s); s.Reason != nil {
			break
		}
	}
	if pl.force && (errors.Is(s.Reason, ErrUnsafe) || errors.Is(s.Reason, ErrSilent) || errors.Is(s.Reason, ErrPanic)) {
		s.note("forced: " + s.Reason.Error())
		s.Reason = nil
	}
	return s.Decision
}

// open opens the file that has the site, and returns why it cannot be attached to.
func (pl *Planner) open(s *site) (err error) {
	if _, err := operand.HostRegisters(s.probe.Machine, s.probe.Class); err != nil {
		return err
	}
	if s.object, err = pl.Objects.Open(s.Path); err != nil {
		return err
	}
	if !s.probe.IsIn(s.object.Info) {
		return fmt.Errorf("%s has been replaced: it is not the file that has the probe", s.Path)
	}
	return nil
}

func (s *site) note(text string) { s.Notes = append(s.Notes, text) }

func (s *site) isX86() bool {
	return s.probe.Machine == elf.EM_X86_64 || s.probe.Machine == elf.EM_386
}

// isX86_64 reports whether the program is an x86-64 one, not x32.
func (s *site) isX86_64() bool {
	return s.probe.Machine == elf.EM_X86_64 && s.probe.Class == elf.ELFCLASS64
}
