package collection

import (
	"strings"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/internal/selector"
)

// section is what SEC(…) says about a program that a collection attaches.
type section struct {
	kind     selector.Kind
	session  bool   // one program for the entry of a function and the return from it
	selector string // as newTarget takes it, empty if the section names nothing
}

// sectionOf returns false for a program that the caller attaches.
func sectionOf(p *ebpf.ProgramSpec) (s section, ok bool) {
	name, optional := strings.CutPrefix(p.SectionName, "?")
	name, _, _ = strings.Cut(name, "/")
	switch strings.TrimSuffix(name, ".s") {
	case "usdt":
		s.kind = selector.USDT
	case "uprobe.multi":
		s.kind = selector.Uprobe
	case "uretprobe.multi":
		s.kind = selector.Uretprobe
	case "uprobe.session":
		s.kind, s.session = selector.Uprobe, true
	default:
		return s, false
	}
	if p.AttachTo != "" && !optional {
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
	if s.kind == selector.USDT {
		return ""
	}
	return s.kind.String() + ":"
}
