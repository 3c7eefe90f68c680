package attach

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/internal/selector"
)

// section is what SEC(…) says about a program that a collection attaches.
type section struct {
	kind     selector.Kind
	selector string // as newDiscovery takes it, empty if the section names nothing
}

// sectionOf returns false for a program that is left to the caller.
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
	default:
		return s, false
	}
	if p.AttachTo != "" && !optional {
		s.selector = s.prefix() + p.AttachTo
	}
	return s, true
}

// prefix is what selectors of this kind begin with.
func (s *section) prefix() string {
	if s.kind == selector.USDT {
		return ""
	}
	return s.kind.String() + ":"
}

// findFile completes a selector whose path is a name without directory, as
// libbpf does: a library is searched for where the dynamic linker would, a
// program where a shell would. If there is none it stands for any file of that
// name which a process has mapped.
func findFile(sel string) string {
	parsed, err := selector.Parse(sel)
	if err != nil {
		return sel // whoever uses it says what is wrong
	}
	name, ok := parsed.LiteralPath()
	if !ok || strings.Contains(name, "/") {
		return sel
	}
	dirs := filepath.SplitList(os.Getenv("PATH"))
	dirs = append(dirs, "/usr/bin", "/usr/sbin")
	if strings.HasSuffix(name, ".so") || strings.Contains(name, ".so.") {
		dirs = append(filepath.SplitList(os.Getenv("LD_LIBRARY_PATH")), "/usr/lib64", "/usr/lib", multiarch())
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() && filepath.IsAbs(path) {
			return strings.Replace(sel, name, path, 1)
		}
	}
	return sel
}

// multiarch is where Debian keeps this architecture's libraries.
func multiarch() string {
	if runtime.GOARCH == "arm64" {
		return "/usr/lib/aarch64-linux-gnu"
	}
	return "/usr/lib/x86_64-linux-gnu"
}
