package discover

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/ianlancetaylor/demangle"

	"github.com/go-usdt/usdt/internal/mangled"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/internal/spelling"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/symbols"
)

// objectCode is the code that selectors name in an object by its lines, or by functions that have
// no code of their own, since they were inlined.
type objectCode struct {
	file  procfs.ID // that was read
	found []code
}

// code is the first instruction of a line, or of an inlined function.
type code struct {
	reader.Source
	selector int
	address  uint64
}

// readCode finds the code in the object at path, which open leads to, unless it has been read.
func (d *Search) readCode(path, open string, id procfs.ID, named bool) {
	if known, ok := d.code[path]; ok && known.file == id {
		return
	}
	out := objectCode{file: id}
	var c *symbols.Code
	for i := range d.selectors {
		s := &d.selectors[i]
		if !s.MatchPath(path) || !s.ByLine && !d.mayBeInlined(i) {
			continue
		}
		if c == nil {
			c = symbols.OpenCode(open, named)
			defer c.Close()
		}
		found, err := d.inlined(c, i)
		if s.ByLine {
			found, err = d.lines(c, i)
		}
		out.found = append(out.found, found...)
		if err != nil && len(found) == 0 {
			d.troubles = append(d.troubles, err)
		}
	}
	d.code[path] = out
}

// mayBeInlined reports whether selector i may name functions that were inlined: an object named
// by its path has no symbol of them.
func (d *Search) mayBeInlined(i int) bool {
	s := &d.selectors[i]
	_, literal := s.LiteralPath()
	return literal && s.ByFunction() && s.Kind == reader.Uprobe && s.Offset == 0 && (!d.matched[i] || d.near[i].inlined)
}

// readCodeOf finds the code in the objects of the process that is being looked at.
func (d *Search) readCodeOf(pid int) {
	for _, o := range d.objects {
		if !d.mayMatch(o.Path) {
			continue
		}
		f, open, err := o.Open()
		if err != nil {
			continue // looking at its functions says so
		}
		// The user named the file if this is the one that the path leads to here.
		info, err := f.Stat()
		named := err == nil && slices.ContainsFunc(d.selectors, func(s selector.Selector) bool {
			path, ok := s.LiteralPath()
			here, err := procfs.Stat(path)
			return ok && strings.Contains(path, "/") && err == nil && os.SameFile(here, info)
		})
		f.Close()
		d.readCode(o.Path, open, o.ID, named)
	}
}

// lines finds the lines that selector i names.
func (d *Search) lines(c *symbols.Code, i int) (found []code, err error) {
	s := &d.selectors[i]
	sources, others, err := c.Sources(s.MatchFile, func(line int) bool { return s.Line <= line && line <= s.LastLine })
	sources = slices.DeleteFunc(sources, func(source symbols.Source) bool { return len(source.Lines) == 0 })
	_, literal := s.LiteralFile()
	if literal && len(sources) > 1 {
		var paths []string
		for i := range sources {
			paths = append(paths, sources[i].Path)
		}
		d.near[i].why = fmt.Sprintf("; %d source files have that name, so write more of the path: %s", len(paths), enumerate(paths))
		return nil, err
	}
	for _, source := range sources {
		for _, st := range source.Statements {
			found = append(found, newCode(c, i, s.LineName(source.Path, st.Line), st))
		}
	}
	if len(found) == 0 && !d.again {
		d.near[i].noLine(s, sources, others)
	}
	return found, err
}

// noLine notes why a selector names no line.
func (n *near) noLine(s *selector.Selector, sources []symbols.Source, others []string) {
	switch {
	case len(sources) == 0 && len(others) == 0:
		n.why = ", which has no debugging information that says which lines its code comes from (compile with -g, do not strip)"
	case len(sources) == 0:
		n.why = ", none of whose source files has that name"
		file, _ := s.LiteralFile()
		bases := map[string]string{}
		for _, path := range others {
			base := path[strings.LastIndexByte(path, '/')+1:]
			bases[strings.ToLower(base)] = base
		}
		var names []string
		for name := range bases {
			names = append(names, name)
		}
		slices.Sort(names)
		if nearest := spelling.Nearest(file[strings.LastIndexByte(file, '/')+1:], names); nearest != "" {
			n.why += spelling.NearestIs + bases[nearest]
		}
	default:
		lines := sources[0].Lines
		n.why = ", where no code comes from there"
		// As in debuggers, code that stands behind is likelier meant.
		at, _ := slices.BinarySearch(lines, s.Line)
		if at == len(lines) {
			at--
		}
		n.instead = s.AtLine(lines[at])
	}
}

// noLine says why selector i names no line, "" if it is not for lines.
func (d *Search) noLine(i int) string { return d.near[i].why }

// enumerate lists the first paths, and says how many more there are.
func enumerate(paths []string) string {
	const most = 8
	out := strings.Join(paths[:min(most, len(paths))], ", ")
	if more := len(paths) - most; more > 0 {
		out += fmt.Sprintf(" and %d more", more)
	}
	return out
}

// inlined finds where the functions were inlined that selector i names: those without symbols.
func (d *Search) inlined(c *symbols.Code, i int) (found []code, err error) {
	s := &d.selectors[i]
	statements, err := c.Inlined(func(symbol, name string) bool {
		return s.MatchName(cmp.Or(symbol, name)) || s.MatchName(name) || symbol != "" && s.MatchName(mangled.Source(symbol, demangle.NoParams))
	})
	for _, st := range statements {
		d.near[i].inlined = true
		found = append(found, newCode(c, i, "", st))
	}
	return found, err
}

// newCode returns code that selector i names.
func newCode(c *symbols.Code, i int, line string, st symbols.Statement) code {
	out := code{reader.Source{Line: line, Func: st.Func, Inlined: st.Inlined}, i, st.Address}
	all, err := c.Variables(st.Address)
	out.Variables, out.Err = variables(all), err
	return out
}

// variables returns variables as probes have them.
func variables(all []symbols.Variable) (out []reader.Variable) {
	for _, v := range all {
		var named []reader.NamedValue
		for _, n := range v.Named {
			named = append(named, reader.NamedValue(n))
		}
		out = append(out, reader.Variable{
			Named: named, Count: v.Count, Stride: v.Stride,
			Name: v.Name, Type: v.Type, Argument: v.Argument, Global: v.Global, Behind: v.Behind, Kind: variableKinds[v.Kind], Size: v.Size, Length: v.Length, Err: v.Err,
			Interface: v.Interface, Relative: v.Relative, Held: v.Held,
			Register: v.Register, Offset: v.Offset, Memory: v.Memory, Follow: v.Follow, FollowOffset: v.FollowOffset, Bit: v.Bit, Bits: v.Bits, BitsAbove: v.BitsAbove,
		})
	}
	return out
}

var variableKinds = map[symbols.VariableKind]reader.FieldKind{
	symbols.Unsigned: reader.Uint, symbols.Signed: reader.Int, symbols.Boolean: reader.Bool, symbols.Float: reader.Float, symbols.Text: reader.String,
}
