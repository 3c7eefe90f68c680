package collection

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	ebpflink "github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/attach/internal/libbpf"
	"github.com/go-usdt/usdt/attach/internal/link"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/kernel"
	"github.com/go-usdt/usdt/internal/privilege"
)

// Collection holds the loaded programs and maps of a BPF object compiled from C,
// and the attachments of the programs.
//
// A program in section "usdt/PATH:PROVIDER:NAME" ("usdt.s" if it may sleep)
// uses libbpf's usdt.bpf.h: BPF_USDT, bpf_usdt_arg, bpf_usdt_arg_cnt and, for
// [Options.Cookie], bpf_usdt_cookie. PATH:PROVIDER:NAME is a selector as for
// [attach.Open]. One in section "usdt", or with '?' before its section, is attached by
// AttachProgram.
//
// Programs in sections "uprobe.multi/PATH:FUNC", "uretprobe.multi/PATH:FUNC" and
// "uprobe.session/PATH:FUNC", or with ".s" before the slash, are attached to
// functions, by perf events where the kernel has no uprobe_multi links; FUNC is
// as for [attach.Open]. bpf_get_attach_cookie returns the cookie there.
//
// bpf_usdt_arg returns -EINVAL for an argument that the object's header cannot
// express, which [attach.Site.ArgErrs] explains, and -EFAULT for memory that is paged
// out, unless the program may sleep: then Linux 6.0 and later bring the memory
// in.
//
// With more than eight PIDs, a program whose section says what to attach to looks
// up the process first, if its license is GPL-compatible; then one link serves
// all processes. A program that AttachProgram attaches has a link for each
// process, at the cost that [attach.AttachProbes] describes.
//
// Sections "uprobe/PATH:FUNC" and "uretprobe/PATH:FUNC" are attached likewise, and
// "kprobe/", "kretprobe/", "kprobe.multi/", "kretprobe.multi/", "kprobe.session/", "ksyscall/",
// "kretsyscall/", "tracepoint/", "raw_tp/", "raw_tp.w/", "tp_btf/", "fentry/", "fexit/", "fmod_ret/",
// "freplace/", "lsm/" and "iter/" with what follows, as libbpf's skeletons attach them: in all
// processes, whatever the target is. bpf_get_attach_cookie returns the cookie, except
// at raw tracepoints and iterators; [Collection.Links] has the iterator to be opened. AttachProgram
// also attaches programs of the sections for kprobes, system calls and tracepoints, which need not name
// any.
//
// "fentry.multi/GLOB", "fexit.multi/GLOB" and "fsession.multi/GLOB" attach to the functions of the kernel itself
// that fit, by one link of trampolines, which Linux 7.2 and later have on x86-64; elsewhere New returns an error
// that wraps [ebpf.ErrNotSupported]. Such a program reads arguments by bpf_get_func_arg. Functions that the kernel
// refuses are in the [Collection.Plan]. Functions that run all the time are attached to if their exact name is
// given, and patterns of very many functions need [Options.Force].
//
// The programs of all other sections are the caller's to attach: [Collection.Left].
type Collection struct {
	*ebpf.Collection

	options  Options // of New
	kind     link.Kind
	specs    *specTable // nil without usdt.bpf.h
	programs map[string]*program
	left     []string // programs that the caller attaches

	adopted bool
	pinned  string // the directory, empty if it is not pinned; guarded by attaching

	attaching sync.Mutex // held by Attach
	processes *ebpf.Map  // that programs look up, nil if they are few

	mu          sync.Mutex // of what follows, and of targets
	attachments map[*site.Attachment]*program
	pending     []*site.Attachment // closed, but the kernel has not finished
	closed      bool

	closing  sync.Once
	closeErr error
	using    sync.RWMutex // held while the kernel is given programs and maps, so that none is closed
}

// program is a program that the collection attaches.
type program struct {
	section section
	prog    *ebpf.Program
	note    string // on each site
	pids    []int  // the only processes in which it does anything, nil for all

	// target is what Attach is to attach to: sites, or why there are none.
	target *target
	err    error
	own    *site.Attachment // what Attach has attached last
	link   ebpflink.Link    // the same, to something of the kernel's
	ended  func() error     // of the context of Attach; nil before
	// refused are the sites that Attach could not attach to.
	refused site.Plan
}

// maxObject bytes of a BPF object are read.
const maxObject = 64 << 20

// spareSpecs is the number of argument specs that sites found later may add,
// if there will be such sites.
const spareSpecs = 4096

// Load loads the object and attaches its programs, as LoadSpec, New and Attach
// do; call these to set variables, resize maps or change what a program is
// attached to. The caller closes the collection.
//
// When ctx is done, Load returns its cause; afterwards the programs are detached.
// If a program could not be attached, the error says so, and nothing stays
// attached.
func Load(ctx context.Context, object io.ReaderAt, opts *Options) (*Collection, error) {
	if err := usable(ctx); err != nil {
		return nil, err
	}
	spec, err := LoadSpec(object)
	if err != nil {
		return nil, err
	}
	c, err := New(ctx, spec, opts)
	if err != nil {
		return nil, err
	}
	if err := c.Attach(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// LoadSpec is [ebpf.LoadCollectionSpecFromReader], and also reads objects that
// include usdt.bpf.h, which that function refuses.
//
// AttachTo of a program is what its section names, "PATH:PROVIDER:NAME" or
// "PATH:FUNC". The caller may change it, or clear it to choose later by
// AttachProgram.
func LoadSpec(object io.ReaderAt) (spec *ebpf.CollectionSpec, err error) {
	b, err := io.ReadAll(io.NewSectionReader(object, 0, maxObject+1))
	if err != nil {
		return nil, fmt.Errorf("read BPF object: %w", err)
	}
	if len(b) > maxObject {
		return nil, fmt.Errorf("a BPF object of more than %d bytes", maxObject)
	}
	if b, err = libbpf.Patch(b); err != nil {
		return nil, fmt.Errorf("read BPF object: %w", err)
	}
	defer func() {
		// Damaged type information may make the decoder panic.
		if r := recover(); r != nil {
			spec, err = nil, fmt.Errorf("read BPF object: it is damaged: %v", r)
		}
	}()
	spec, err = ebpf.LoadCollectionSpecFromReader(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("read BPF object: %w", err)
	}
	for _, p := range spec.Programs {
		typeMulti(p)
	}
	return spec, nil
}

// New loads spec into the kernel and finds the sites that its programs name,
// which [Collection.Plan] then lists. It does not change spec, and attaches
// nothing: Attach does. The spec is one of LoadSpec, of a loader that usdt2go or
// bpf2go has written, or one that was put together in Go. The map of argument specs,
// __bpf_usdt_specs, gets entries for all of these sites, and for sites that AttachProgram may add:
// 256, or as many as its MaxEntries says.
//
// A program that was put together in Go has its SectionName, "usdt/PROVIDER:NAME" for Attach or
// "usdt" for AttachProgram. It also calls usdt.bpf.h's bpf_usdt_arg, bpf_usdt_arg_cnt and
// bpf_usdt_cookie, by asm.Call.Label("bpf_usdt_arg"): New adds the functions that are called and
// missing, and their map.
//
// When ctx is done, New returns its cause. opts may be nil.
func New(ctx context.Context, spec *ebpf.CollectionSpec, opts *Options) (*Collection, error) {
	if err := usable(ctx); err != nil {
		return nil, err
	}
	o, err := opts.checked()
	if err != nil {
		return nil, err
	}
	spec = spec.Copy()
	if err := adopt(spec); err != nil {
		return nil, err
	}
	if err := libbpf.Supply(spec); err != nil {
		return nil, err
	}
	c := &Collection{options: o, programs: map[string]*program{}, attachments: map[*site.Attachment]*program{}}
	if m := spec.Maps[libbpf.SpecMap]; m != nil {
		if o.Collection.MapReplacements[libbpf.SpecMap] != nil {
			return nil, fmt.Errorf("map %s cannot be replaced: it belongs to one collection", libbpf.SpecMap)
		}
		if c.specs, err = newSpecTable(m); err != nil {
			return nil, err
		}
	}
	later := o.Rescan > 0
	for name, p := range spec.Programs {
		if s, ok := sectionOf(p); ok {
			c.programs[name] = &program{section: s}
			later = later || s.selector == "" && !s.ofKernel()
		} else {
			c.left = append(c.left, name)
		}
	}
	slices.Sort(c.left)
	// Later attachments may be restricted to processes.
	if c.kind, err = link.Choose(link.Kind(o.Link), later || len(o.Target.PIDs) > 0); err != nil {
		return nil, err
	}
	if err := c.shareLinks(spec, o.Target.PIDs); err != nil {
		c.abandon()
		return nil, err
	}
	onTaskStack := c.stayOnTaskStack(spec, &o)
	c.findSites(ctx)
	if c.specs != nil {
		c.size(spec, &o, later)
	}
	for name := range c.programs {
		p := spec.Programs[name]
		if err := c.setLink(p, c.programs[name].section); err != nil {
			c.abandon()
			return nil, err
		}
		letSleep(p)
	}
	if c.Collection, err = ebpf.NewCollectionWithOptions(spec, o.Collection); err != nil {
		c.abandon()
		return nil, loadError(err, spec, onTaskStack)
	}
	if c.specs != nil {
		c.specs.m = c.Maps[libbpf.SpecMap]
	}
	for name, p := range c.programs {
		p.prog = c.Programs[name]
	}
	return c, nil
}

// setLink makes the program load for the kind of link that will be used.
func (c *Collection) setLink(p *ebpf.ProgramSpec, s section) error {
	switch {
	case s.links == link.TrampolineMany:
		if err := link.RequireMany(s.when); err != nil {
			return fmt.Errorf("program %s in section %s: %w", p.Name, p.SectionName, err)
		}
		p.AttachType = s.when.Many()
	case s.kernel != nil, s.links != link.Auto: // as it was compiled
	case s.session:
		err := link.Sessions.Require()
		if errors.Is(err, ebpf.ErrNotSupported) {
			return fmt.Errorf("program %s in section %s: %w (Linux 6.13 has sessions)", p.Name, p.SectionName, err)
		}
		if err != nil {
			return privilege.Explain("ask the kernel for sessions", err)
		}
		p.AttachType = link.AttachSession
	default:
		p.AttachType = c.kind.AttachType()
	}
	return nil
}

// stayOnTaskStack keeps programs on uprobes, including the programs that the caller attaches,
// from getting a private stack, and reports whether there were any.
func (c *Collection) stayOnTaskStack(spec *ebpf.CollectionSpec, o *Options) (changed bool) {
	if o.PrivateStack {
		return false
	}
	for name, p := range spec.Programs {
		if !onUprobe(p) || !kernel.StayOnTaskStack(p) {
			continue
		}
		changed = true
		if own := c.programs[name]; own != nil {
			own.note = kernel.PrivateStackNote(name)
		}
	}
	return changed
}

// findSites finds the sites that programs name.
func (c *Collection) findSites(ctx context.Context) {
	for _, p := range c.programs {
		if p.section.kernel == nil && p.section.selector != "" {
			p.target, p.err = c.ownTarget(ctx, p)
		}
	}
}

// ownTarget finds the sites that a program's section names.
func (c *Collection) ownTarget(ctx context.Context, p *program) (*target, error) {
	o := c.options
	if p.section.ofKernel() {
		o.Target = attach.Target{}
	}
	return c.newTarget(ctx, p, p.section.selector, &o)
}

// abandon gives up a collection that could not be loaded.
func (c *Collection) abandon() {
	c.forget()
	c.processes.Close()
}

// forget gives up the targets of Attach.
func (c *Collection) forget() {
	for _, p := range c.programs {
		if p.target != nil {
			p.target.objects.Close()
			p.target.procs.Close()
			p.target = nil
		}
	}
}

// size gives the map of specs room for the known sites, and for as many more as
// the object declares, or spareSpecs if later.
func (c *Collection) size(spec *ebpf.CollectionSpec, o *Options, later bool) {
	different := map[string]bool{}
	for _, p := range c.programs {
		if p.target == nil {
			continue
		}
		for _, s := range p.target.specs {
			different[s] = true
		}
	}
	delete(different, "") // sites that are refused, and functions
	specs := spec.Maps[libbpf.SpecMap]
	more := uint64(specs.MaxEntries)
	if later {
		more = max(more, spareSpecs)
	}
	specs.MaxEntries = uint32(min(uint64(len(different))+more, math.MaxUint32))
	if m := spec.Maps[libbpf.AddressMap]; m != nil && o.Collection.MapReplacements[libbpf.AddressMap] == nil {
		m.MaxEntries = 1 // for kernels without cookies
	}
}

// letSleep makes bpf_usdt_arg bring in memory that is paged out, if the program
// may sleep: usdt.bpf.h never does.
func letSleep(p *ebpf.ProgramSpec) {
	if p.Flags&unix.BPF_F_SLEEPABLE == 0 {
		return
	}
	inside := false
	for i := range p.Instructions {
		ins := &p.Instructions[i]
		if function := btf.FuncMetadata(ins); function != nil {
			inside = function.Name == libbpf.ArgFunction
		}
		if inside && ins.IsBuiltinCall() && asm.BuiltinFunc(ins.Constant) == asm.FnProbeReadUser {
			ins.Constant = int64(asm.FnCopyFromUser) // the arguments are equal
		}
	}
}
