package discover

import (
	"os"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/internal/kernfunc"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/symbols"
)

// Types finds names and types of the arguments and results of functions, by the debugging
// information of their objects, or by their BTF. Nothing is read before somebody asks. It is for one goroutine.
type Types struct {
	selectors []selector.Selector
	code      map[string]*symbols.Code
	casts     map[castKey]*Cast
	btf       map[string]*kernfunc.Types // by path, nil if an object has none
}

// NewTypes returns types of the functions that selectors name.
func NewTypes(selectors []selector.Selector) *Types {
	return &Types{selectors: selectors, code: map[string]*symbols.Code{}, casts: map[castKey]*Cast{}, btf: map[string]*kernfunc.Types{}}
}

// Read makes sure that the function of p has what is known of its arguments.
func (t *Types) Read(p *reader.Probe) {
	fn := p.Target
	if t == nil || fn == nil || fn.Typed != nil || p.Source != nil {
		return
	}
	fn.Typed = &reader.Typed{}
	if fn.Convention == reader.GoUnknown {
		return
	}
	c := t.open(p.Attachable())
	call := symbols.Call{Go: fn.Convention == reader.GoRegisters, Stack: fn.Convention == reader.GoStack, Altered: altered(fn.Symbols)}
	args, results, known, err := c.Function(fn.Address, call)
	*fn.Typed = reader.Typed{Arguments: variables(args), Results: variables(results), Known: known, Err: err}
	if known {
		return
	}
	if typed := typedBy(t.typesOf(p.Attachable(), c), p); typed != nil {
		fn.Typed = typed
	}
}

// open returns the code of the object at path.
func (t *Types) open(path string) *symbols.Code {
	c := t.code[path]
	if c == nil {
		c = symbols.OpenCode(path, t.named(path))
		t.code[path] = c
	}
	return c
}

// altered reports whether a function is a copy that GCC has made for some of its callers.
func altered(names []string) bool {
	return len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool {
		return !strings.Contains(name, ".isra.") && !strings.Contains(name, ".constprop.") && !strings.Contains(name, ".part.")
	})
}

// named reports whether the user named the file at path.
func (t *Types) named(path string) bool {
	info, err := procfs.Stat(path)
	return err == nil && slices.ContainsFunc(t.selectors, func(s selector.Selector) bool {
		literal, ok := s.LiteralPath()
		here, err := procfs.Stat(literal)
		return ok && strings.Contains(literal, "/") && err == nil && os.SameFile(here, info)
	})
}

// Close closes the objects.
func (t *Types) Close() {
	for _, c := range t.code {
		c.Close()
	}
	t.code = map[string]*symbols.Code{}
}
