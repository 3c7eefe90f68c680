package collection

import (
	"strings"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/link"
	"github.com/go-usdt/usdt/reader"
)

// section is what SEC(…) says about a program that a collection attaches.
type section struct {
	kind     reader.ProbeKind
	session  bool       // one program for the entry of a function and the return from it
	single   bool       // one that libbpf loads for one instruction, as perf events are
	kernel   kernelLink // attaches to what AttachTo names of the kernel; nil if a selector names the sites
	selector string     // as newTarget takes it, or what kernel takes; empty if the section names nothing
	when     link.When  // of programs for links of many functions by trampolines

	// links is the kind of link by which AttachProgram attaches to what a selector names; Auto for the
	// collection's if the section is for files, and for none if it is for the kernel.
	links link.Kind
}

// sections are the sections of programs that a collection attaches, without ".s".
var sections = map[string]section{
	"usdt":             {kind: reader.USDT},
	"uprobe":           {kind: reader.Uprobe, single: true},
	"uretprobe":        {kind: reader.Uretprobe, single: true},
	"uprobe.multi":     {kind: reader.Uprobe},
	"uretprobe.multi":  {kind: reader.Uretprobe},
	"uprobe.session":   {kind: reader.Uprobe, session: true},
	"kprobe":           {kernel: kprobe, kind: reader.Kprobe, links: link.KernelPerf},
	"kretprobe":        {kernel: kretprobe, kind: reader.Kretprobe, links: link.KernelPerf},
	"kprobe.multi":     {kernel: kprobes, kind: reader.Kprobe, links: link.KernelMulti},
	"kretprobe.multi":  {kernel: kretprobes, kind: reader.Kretprobe, links: link.KernelMulti},
	"kprobe.session":   {kernel: kprobeSessions, kind: reader.Kprobe, session: true, links: link.KernelMulti},
	"ksyscall":         {kernel: ksyscall, kind: reader.Kprobe, links: link.KernelPerf},
	"kretsyscall":      {kernel: kretsyscall, kind: reader.Kretprobe, links: link.KernelPerf},
	"tracepoint":       {kernel: tracepoint, kind: reader.Tracepoint, links: link.Tracepoint},
	"tp":               {kernel: tracepoint, kind: reader.Tracepoint, links: link.Tracepoint},
	"raw_tracepoint":   {kernel: rawTracepoint},
	"raw_tp":           {kernel: rawTracepoint},
	"raw_tracepoint.w": {kernel: rawTracepoint},
	"raw_tp.w":         {kernel: rawTracepoint},
	"tp_btf":           {kernel: tracing},
	"fentry":           {kernel: tracing},
	"fexit":            {kernel: tracing},
	"fmod_ret":         {kernel: tracing},
	"freplace":         {kernel: replacement},
	"lsm":              {kernel: lsm},
	"iter":             {kernel: iterator},
	"fentry.multi":     {kind: reader.Fentry, links: link.TrampolineMany, when: link.AtEntry},
	"fexit.multi":      {kind: reader.Fexit, links: link.TrampolineMany, when: link.AtReturn},
	"fsession.multi":   {kind: reader.Fentry, session: true, links: link.TrampolineMany, when: link.AtBoth},
}

// ofKernel reports whether programs run at something of the kernel, in all processes.
func (s *section) ofKernel() bool { return s.kernel != nil || s.kind.InKernel() }

// typeMulti gives a program its type and what it is attached to, if its section is one for many functions by
// trampolines, which cilium/ebpf does not know in version 0.22.
func typeMulti(p *ebpf.ProgramSpec) {
	name, to, _ := strings.Cut(strings.TrimPrefix(p.SectionName, "?"), "/")
	name, sleeps := strings.CutSuffix(name, ".s")
	s := sections[name]
	if p.Type != ebpf.UnspecifiedProgram || s.links != link.TrampolineMany {
		return
	}
	p.Type, p.AttachType = ebpf.Tracing, s.when.Many()
	if p.AttachTo == "" {
		p.AttachTo = to
	}
	if sleeps {
		p.Flags |= unix.BPF_F_SLEEPABLE
	}
}

// sectionOf returns false for a program that the caller attaches.
func sectionOf(p *ebpf.ProgramSpec) (s section, ok bool) {
	name, optional := strings.CutPrefix(p.SectionName, "?")
	name, _, _ = strings.Cut(name, "/")
	s, ok = sections[strings.TrimSuffix(name, ".s")]
	named := p.AttachTo != "" && !optional
	switch {
	case !ok || s.kernel != nil && !named && s.links == link.Auto:
		return section{}, false
	case s.single && !named:
		s.links = link.Perf // as it was compiled: the caller may also attach it by cilium/ebpf
	case s.kernel != nil && named:
		s.selector = p.AttachTo
	case named:
		s.selector = s.prefix() + p.AttachTo
	}
	return s, true
}

// onUprobe reports whether a program's section says that it is for uprobes,
// also if the caller attaches it.
func onUprobe(p *ebpf.ProgramSpec) bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(p.SectionName, "?"), "/")
	name, _, _ = strings.Cut(name, ".")
	return p.Type == ebpf.Kprobe && (name == "usdt" || name == "uprobe" || name == "uretprobe")
}

// prefix is what selectors of this kind begin with.
func (s *section) prefix() string {
	if s.kind == reader.USDT {
		return ""
	}
	return s.kind.String() + ":"
}

// takes returns what selectors of this kind look like.
func (s *section) takes() string {
	switch {
	case s.kind == reader.USDT:
		return "PROVIDER:NAME"
	case s.kind.HasFields():
		return s.prefix() + "SYSTEM:EVENT"
	case s.kind.InKernel():
		return s.prefix() + "FUNC"
	}
	return s.prefix() + "PATH:FUNC"
}
