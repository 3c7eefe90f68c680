package selector

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/reader"
)

// IsKind reports whether a selector that begins with a word and a colon is of the kind that the word
// names.
func IsKind(word string) bool {
	kind, _ := reader.ParseProbeKind(word)
	return kind != reader.USDT
}

// provider matches what may be the name of a provider.
var provider = regexp.MustCompile(`^[A-Za-z_][\w-]*$`)

// Selector is a parsed selection of probes or functions.
type Selector struct {
	Kind reader.ProbeKind
	// Path, Provider, Name and Function are the patterns as written. Path is empty if
	// any path matches. Function is for functions; Provider and Name are for USDT
	// probes. For functions of the kernel, Provider is the module, empty for any. For
	// tracepoints, Provider is the system, and Function the event.
	Path, Provider, Name, Function string
	// Offset is the N of FUNC+N: the distance in bytes of an instruction from the
	// entry of the function. If ByAddress is set, the selector names no function, and
	// Address is the address of an instruction in the file. For functions of the kernel,
	// Address is the one of several with one name, 0 for all.
	Offset, Address uint64
	ByAddress       bool
	// ByLine says that the selector names lines of source files, from Line to LastLine,
	// and no function.
	ByLine         bool
	Line, LastLine int

	path, absolute           glob
	resolved                 string   // where Path leads through symbolic links
	others                   []string // other paths of the file, see Unite
	provider, name, function glob
	file                     glob // of source files
}

// Parse parses a selector.
func Parse(s string) (Selector, error) {
	sel, err := parse(s)
	if err != nil {
		return Selector{}, fmt.Errorf("probe %q: %w", s, err)
	}
	sel.resolve()
	return sel, nil
}

func parse(s string) (sel Selector, err error) {
	first, rest, _ := strings.Cut(s, ":")
	switch sel.Kind, _ = reader.ParseProbeKind(first); {
	case sel.Kind.InFile():
		// Only the first colon separates: C++ names have more.
		var ok bool
		sel.Path, sel.Function, ok = CutPath(rest)
		if !ok {
			return sel, fmt.Errorf("want %s:PATH:FUNC; for a file that is called %[1]s, write ./%[1]s", first)
		}
		if sel.Path == "" {
			return sel, fmt.Errorf("the path is empty: want %s:PATH:FUNC", first)
		}
		if sel.Function == "" {
			return sel, fmt.Errorf("the function is empty: want %s:PATH:FUNC, with '*' for any", first)
		}
	case sel.Kind.HasFields():
		if err := sel.parseTracepoint(rest); err != nil {
			return sel, err
		}
	case sel.Kind.InKernel():
		if err := sel.parseKernel(rest); err != nil {
			return sel, err
		}
	default:
		// A path may have colons; providers and names have none.
		name := lastColon(s)
		if name < 0 {
			all := ""
			switch {
			case !provider.MatchString(s):
			case strings.Contains(s, "__"): // as names of probes have it
				all = fmt.Sprintf("; probes of this name, of any provider, are '*:%s'", s)
			default:
				all = fmt.Sprintf("; all probes of a provider of this name are '%s:*'", s)
			}
			return sel, fmt.Errorf("want [PATH:]PROVIDER:NAME, with '*' for any: there is no ':'%s", all)
		}
		sel.Name, s = s[name+1:], s[:name]
		hasPath := false
		if provider := lastColon(s); provider >= 0 {
			hasPath = true
			sel.Path, s = s[:provider], s[provider+1:]
		}
		sel.Provider = s
		for _, part := range []struct{ what, text string }{{"provider", sel.Provider}, {"name", sel.Name}} {
			if part.text == "" {
				return sel, fmt.Errorf("the %s is empty: want [PATH:]PROVIDER:NAME, with '*' for any", part.what)
			}
		}
		if hasPath && sel.Path == "" {
			return sel, fmt.Errorf("the path is empty: want [PATH:]PROVIDER:NAME, with '*' for any")
		}
	}
	function, file := sel.Function, ""
	if !sel.Kind.InKernel() {
		if function, file, err = sel.parseFunction(); err != nil {
			return sel, err
		}
	}
	absolute := sel.Path
	if strings.HasPrefix(absolute, "./") || strings.HasPrefix(absolute, "../") {
		if absolute, err = filepath.Abs(absolute); err != nil {
			return sel, err
		}
	}
	for _, part := range []struct {
		what, text string
		dst        *glob
	}{
		{"path", sel.Path, &sel.path},
		{"path", absolute, &sel.absolute},
		{"provider", sel.Provider, &sel.provider},
		{"name", sel.Name, &sel.name},
		{"function", function, &sel.function},
		{"file", file, &sel.file},
	} {
		if *part.dst, err = compile(part.text); err != nil {
			return sel, fmt.Errorf("%s %q: %w", part.what, part.text, err)
		}
	}
	return sel, nil
}

// resolve follows symbolic links, since processes know files by their real paths, as
// in /usr/lib/x for /lib/x. A path that does not exist may be a process's own.
func (s *Selector) resolve() {
	path, ok := s.LiteralPath()
	if !ok || !strings.Contains(path, "/") {
		return
	}
	if resolved, err := procfs.EvalSymlinks(path); err == nil {
		if resolved, err = filepath.Abs(resolved); err == nil {
			s.resolved = resolved
		}
	}
}

// Unite makes selectors that name one file by different paths, such as one through a
// symbolic link, each also select what is found by the paths of the others.
func Unite(selectors ...*Selector) {
	files := make([]os.FileInfo, len(selectors))
	for i, s := range selectors {
		path, ok := s.LiteralPath()
		if !ok || !strings.Contains(path, "/") {
			continue
		}
		info, err := procfs.Stat(path)
		if err != nil {
			continue
		}
		files[i] = info
		for j, other := range files[:i] {
			if o := selectors[j]; other != nil && os.SameFile(info, other) && o.path.literal != path {
				s.others, o.others = append(s.others, o.path.literal), append(o.others, path)
			}
		}
	}
}

// String returns the selector in the syntax of Parse.
func (s *Selector) String() string {
	switch {
	case s.Kind.InKernel():
		return s.kernelString()
	case s.Kind != reader.USDT:
		return s.Kind.String() + ":" + s.Path + ":" + s.Function
	case s.Path != "":
		return s.Path + ":" + s.Provider + ":" + s.Name
	}
	return s.Provider + ":" + s.Name
}

// Match reports whether s selects the probe provider:name of the object at
// path.
func (s *Selector) Match(path, provider, name string) bool {
	return s.Kind == reader.USDT && s.provider.match(provider) && s.name.match(name) && s.MatchPath(path)
}

// MatchName reports whether s selects functions with this name, or instructions of
// them, in any object.
func (s *Selector) MatchName(function string) bool {
	return s.ByFunction() && s.function.match(function)
}

// Words returns parts that each function named by s has in its name, of letters, digits and
// underscores. A version, as in NAME@VERSION, is none.
func (s *Selector) Words() []string {
	text := s.function.literal
	if s.function.tokens != nil {
		var b []byte
		for i := range s.function.tokens {
			c := rune(' ')
			if t := &s.function.tokens[i]; len(t.ranges) == 1 && !t.not && t.ranges[0].lo == t.ranges[0].hi {
				c = t.ranges[0].lo
			}
			b = appendCharacter(b, c)
		}
		text = string(b)
	}
	text, _, _ = strings.Cut(text, "@")
	return strings.FieldsFunc(text, func(c rune) bool {
		return c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	})
}

// MatchPath reports whether s selects the object at path. A pattern without '/' is
// also compared with the last element of the path; for a library, the pattern may
// omit the end of the version. A path may lead to the object through symbolic links.
func (s *Selector) MatchPath(path string) bool {
	if s.Kind.InKernel() {
		return false
	}
	if s.Path == "" || s.path.match(path) || s.absolute.match(path) || s.resolved != "" && s.resolved == path || slices.Contains(s.others, path) {
		return true
	}
	if strings.Contains(s.Path, "/") {
		return false
	}
	base := filepath.Base(path)
	return s.path.match(base) || s.path.tokens == nil && isVersionOf(base, s.path.literal)
}

// isVersionOf reports whether file is a version of the library that programs call
// name: libx.so.6.0.30 is one of libx.so.6, which is a symbolic link.
func isVersionOf(file, name string) bool {
	version, ok := strings.CutPrefix(file, name)
	return ok && strings.Contains(name, ".so") && strings.HasPrefix(version, ".") && strings.Trim(version, ".0123456789") == ""
}

// LiteralPath returns the path if the selector names exactly one.
func (s *Selector) LiteralPath() (path string, ok bool) {
	return s.path.literal, s.Path != "" && s.path.tokens == nil
}
