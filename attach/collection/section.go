package collection

import (
	"strings"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/internal/selector"
)

// section is what SEC(…) says about a program that a collection attaches.
type section struct {
	kind     selector.Kind
	session  bool       // one program for the entry of a function and the return from it
	single   bool       // one that libbpf loads for one instruction, and users attach themselves if it names none
	kernel   kernelLink // attaches to something of the kernel's; nil for sites of files
	selector string     // as newTarget takes it, or what kernel takes; empty if the section names nothing
}

// sections are the sections of programs that a collection attaches, without ".s".
var sections = map[string]section{
	"usdt":             {kind: selector.USDT},
	"uprobe":           {kind: selector.Uprobe, single: true},
	"uretprobe":        {kind: selector.Uretprobe, single: true},
	"uprobe.multi":     {kind: selector.Uprobe},
	"uretprobe.multi":  {kind: selector.Uretprobe},
	"uprobe.session":   {kind: selector.Uprobe, session: true},
	"kprobe":           {kernel: kprobe},
	"kretprobe":        {kernel: kretprobe},
	"kprobe.multi":     {kernel: kprobes},
	"kretprobe.multi":  {kernel: kretprobes},
	"kprobe.session":   {kernel: kprobeSessions},
	"ksyscall":         {kernel: ksyscall},
	"kretsyscall":      {kernel: kretsyscall},
	"tracepoint":       {kernel: tracepoint},
	"tp":               {kernel: tracepoint},
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
}

// sectionOf returns false for a program that the caller attaches.
func sectionOf(p *ebpf.ProgramSpec) (s section, ok bool) {
	name, optional := strings.CutPrefix(p.SectionName, "?")
	name, _, _ = strings.Cut(name, "/")
	s, ok = sections[strings.TrimSuffix(name, ".s")]
	switch own := s.kernel != nil || s.single; {
	case !ok || own && (p.AttachTo == "" || optional):
		return section{}, false
	case s.kernel != nil:
		s.selector = p.AttachTo
	case p.AttachTo != "" && !optional:
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
	if s.kernel != nil || s.kind == selector.USDT {
		return ""
	}
	return s.kind.String() + ":"
}

// takes returns what selectors of this kind look like.
func (s *section) takes() string {
	if s.kind == selector.USDT {
		return "PROVIDER:NAME"
	}
	return s.prefix() + "PATH:FUNC"
}
