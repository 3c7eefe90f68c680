package discover

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/attach/internal/library"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/internal/spelling"
	"github.com/go-usdt/usdt/reader"
)

// near is what a selector that names nothing may have meant.
type near struct {
	instead  string // the nearest name that exists
	distance int
	others   int    // probes of the provider
	why      string // a selector of lines names none
	inlined  bool   // whether it names functions that were inlined
}

// nearProbe notes a probe that selector i, which names nothing yet, may mean.
func (d *Search) nearProbe(i int, p *reader.Probe) {
	s, n := &d.selectors[i], &d.near[i]
	if s.Kind != reader.USDT {
		return
	}
	if len(d.procs.PIDs) > 0 && len(d.providers) <= maxNamed {
		d.providers[selector.Probe("", p.Provider, "")+"*"] = true
	}
	if p.Provider == s.Provider {
		n.others++
	}
	if instead, distance, ok := s.Near(p.Provider, p.Name); ok && (n.instead == "" || distance < n.distance) {
		if !s.MatchPath(p.Path) {
			return
		}
		if s.Path != "" {
			instead = s.Path + ":" + instead
		}
		n.instead, n.distance = instead, distance
	}
}

// matchName reports whether selector i names the function. If it names none yet,
// a similar one is noted.
func (d *Search) matchName(i int, function string) bool {
	s, n := &d.selectors[i], &d.near[i]
	if s.MatchName(function) {
		return true
	}
	if d.matched[i] || !d.thorough {
		return false
	}
	if distance, ok := s.NearName(function); ok && (n.instead == "" || distance < n.distance) {
		n.instead, n.distance = s.Kind.String()+":"+s.Path+":"+selector.QuoteFunction(function), distance
	}
	return false
}

// NoMatch returns why selectors have named nothing until now, one error for each.
func (d *Search) NoMatch() (errs []error) {
	for i, matched := range d.matched {
		if !matched {
			errs = append(errs, d.noMatch(i))
		}
	}
	return errs
}

func (d *Search) noMatch(i int) error {
	if d.selectors[i].Kind.InKernel() && d.where == "" {
		return d.noKernel(i)
	}
	sel, pids := d.selectors[i].String(), d.procs.PIDs
	const mapped = "in the files that processes of this machine have mapped"
	searched := mapped
	switch {
	case d.where != "":
		searched = d.where
	case d.Among != "":
		searched = d.Among
	case d.Members != nil:
		searched = "in the processes and their children"
	case len(pids) == 0:
		if parsed, err := selector.Parse(sel); err == nil {
			if path, ok := parsed.LiteralPath(); ok && strings.Contains(path, "/") {
				searched = "in " + path
			}
		}
	case len(pids) == 1:
		searched = fmt.Sprintf("in process %d", pids[0])
	default:
		searched = fmt.Sprintf("in processes %v", pids)
	}
	if d.privilege != nil {
		return d.privilege
	}
	if path, ok := d.selectors[i].LiteralPath(); ok && searched == "in "+path {
		if _, err := procfs.Stat(path); errors.Is(err, fs.ErrNotExist) && !slices.ContainsFunc(d.troubles, func(err error) bool { return !errors.Is(err, fs.ErrNotExist) }) {
			return fmt.Errorf("%w %s: %s does not exist", ErrNoMatch, sel, path)
		}
	}
	err := fmt.Errorf("%w %s %s", ErrNoMatch, sel, searched)
	if line := d.noPath(&d.selectors[i]); line != "" {
		return fmt.Errorf("%w%s", err, line)
	}
	what := cmp.Or(d.noLine(i), d.noFunction(&d.selectors[i]), d.noProbe(i))
	if what != "" && d.where == "" {
		err = fmt.Errorf("%w%s", err, what)
	}
	if what := d.declared(&d.selectors[i]); what != "" {
		err = fmt.Errorf("%w; %s", err, what)
	} else if n := &d.near[i]; n.instead != "" {
		err = fmt.Errorf("%w, but %s would", err, selector.Shell(n.instead))
	} else if d.where != "" {
		err = fmt.Errorf("%w, which have %s", err, namesOf(d.probes, d.selectors[i].Provider))
	} else if n.others > 0 {
		err = fmt.Errorf("%w, where %s has %d other probes", err, d.selectors[i].Provider, n.others)
	} else if what == "" && len(d.providers) > 0 {
		err = fmt.Errorf("%w, where there are %s", err, some(d.providers))
	}
	switch n := len(d.troubles); {
	case n == 0 || d.near[i].instead != "" || what != "" && what != notInstalled: // the answer is there
	case n == 1 && isFirst(d.troubles[0]) && (searched != mapped || d.near[i].others > 0): // it has no part in the answer
	case n == 1:
		err = fmt.Errorf("%w (one file or process could not be read: %w)", err, d.troubles[0])
	default:
		err = fmt.Errorf("%w (%d files or processes could not be read; the first: %w)", err, len(d.troubles), d.troubles[0])
	}
	return err
}

// isFirst reports whether an error is about process 1, which in containers may not be read, even by
// root.
func isFirst(err error) bool {
	var failed *fs.PathError
	return errors.As(err, &failed) && strings.HasPrefix(failed.Path, "/proc/1/")
}

// maxNamed is how many probes an error names; of more, it names the providers.
const maxNamed = 6

// namesOf names probes. If they are many it names the ones of a provider, or else all providers.
func namesOf(probes []reader.Probe, provider string) string {
	names, providers, ofProvider := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i := range probes {
		p := &probes[i]
		name := selector.Probe("", p.Provider, p.Name)
		names[name], providers[selector.Probe("", p.Provider, "")+"*"] = true, true
		if p.Provider == provider {
			ofProvider[name] = true
		}
	}
	switch {
	case len(names) <= maxNamed:
	case len(ofProvider) > 0:
		names = ofProvider
	default:
		names = providers
	}
	return cmp.Or(some(names), "no probe")
}

// some returns the first names.
func some(names map[string]bool) string {
	some := slices.Sorted(maps.Keys(names))
	if more := len(some) - maxNamed; more > 0 {
		some = append(some[:maxNamed], "others")
	}
	return strings.Join(some, ", ")
}

// sourceLine finds FILE:LINE where a selector has PROVIDER:NAME, or PATH:FUNC.
var sourceLine = regexp.MustCompile(`^((?:uprobe:)?(.*:)?)([^:/]+\.(?:c|cc|cpp|cxx|h|hpp|go|rs|zig|d|f90):[0-9]+(?:-[0-9]+)?)$`)

// noPath says how a line of a source file is named, if a selector names one in place of a probe, or
// without the program that has it; "" for others.
func (d *Search) noPath(s *selector.Selector) string {
	found := sourceLine.FindStringSubmatch(s.String())
	if found == nil || s.Kind == reader.Uprobe && found[2] != "" {
		return ""
	}
	path := strings.TrimSuffix(found[2], ":")
	if path == "" && len(d.procs.PIDs) > 0 {
		path, _ = os.Readlink(fmt.Sprintf("/proc/%d/exe", d.procs.PIDs[0])) // it may have ended
	}
	if path == "" {
		return ", but uprobe:PATH:" + found[3] + ", with the PATH of the program or library, would"
	}
	return ", but " + selector.Shell(selector.Line(path, found[3])) + " would"
}

// noProbe says why a file that a selector names may have no probes, "" if the
// reason is not known.
func (d *Search) noProbe(i int) string {
	s, n := &d.selectors[i], &d.near[i]
	path, literal := s.LiteralPath()
	if kind := spelling.Nearest(path, []string{"uprobe", "uretprobe"}); literal && s.Kind == reader.USDT && kind != "" {
		return fmt.Sprintf("; functions are %s:PATH:FUNC", kind)
	}
	if s.Kind != reader.USDT {
		return ""
	}
	if file := d.programOf(s); file != "" && n.instead == "" && n.others == 0 {
		return "; a function of that program is " + selector.Shell("uprobe:"+selector.QuotePath(file)+":"+s.Name)
	}
	if !literal || !strings.Contains(path, "/") {
		return ""
	}
	f, err := reader.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if !f.IsGo() {
		return ""
	}
	return "; a Go program declares its probes at run time, in memory of its own: leave out the path and name its process (-p PID)"
}

// programOf returns the program that a selector has in place of a provider: by its path, or by the name of
// a process's; "" if there is none.
func (d *Search) programOf(s *selector.Selector) string {
	if strings.Contains(s.Provider, "/") {
		if info, err := procfs.Stat(s.Provider); err == nil && info.Mode().IsRegular() {
			return s.Provider
		}
		return ""
	}
	for _, pid := range d.procs.PIDs {
		if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err == nil && filepath.Base(exe) == s.Provider {
			return exe
		}
	}
	return ""
}

// notInstalled is said of a name that is neither mapped nor installed.
const notInstalled = ", and nothing of that name is installed"

// stripped reports whether path leads to a file that has been stripped.
func (d *Search) stripped(path string) bool {
	if !strings.Contains(path, "/") || len(d.procs.PIDs) > 0 || d.Members != nil {
		return false
	}
	f, err := reader.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return f.Stripped() && !f.IsGo()
}

// noFunction says what there is in place of the functions that a selector
// names, "" if the selector is for probes.
func (d *Search) noFunction(s *selector.Selector) string {
	if !s.Kind.InFile() {
		return ""
	}
	objects, functions, object := 0, 0, ""
	for path, n := range d.functions {
		if s.MatchPath(path) {
			objects++
			functions += n
			object = path
		}
	}
	path, literal := s.LiteralPath()
	switch {
	case objects == 1 && functions == 0 && d.stripped(object):
		return ", which is stripped: it has no symbols of functions"
	case objects == 1 && d.stripped(object):
		return fmt.Sprintf(", which is stripped: it has no symbols but of %d functions that other objects can call", functions)
	case functions > 0:
		return fmt.Sprintf(", where there are %d other functions", functions)
	case objects > 0:
		return ", where there are no symbols of functions"
	case literal && !strings.Contains(path, "/") && len(d.procs.PIDs) > 0:
		files := slices.Collect(d.mappedFiles)
		if len(files) == 0 { // a command has ended
			return nearest(library.Like(path))
		}
		return nearest(library.Nearest(path, slices.Values(files)))
	case literal && !strings.Contains(path, "/") && d.Members == nil:
		if _, err := procfs.Stat(path); err == nil {
			return "; for the file in this directory write " + selector.Shell("./"+selector.QuotePath(path))
		}
		return notInstalled + nearest(library.Like(path))
	}
	return ""
}

// nearest names the file that a name may mean, if there is one.
func nearest(path string) string {
	if path == "" {
		return ""
	}
	return fmt.Sprintf("; the nearest is %s (%s)", filepath.Base(path), path)
}

// mappedFiles yields the paths of what the processes have mapped. One that has ended has nothing.
func (d *Search) mappedFiles(yield func(path string) bool) {
	for _, pid := range d.procs.PIDs {
		maps, err := procfs.Maps(pid)
		if err != nil {
			continue
		}
		for _, o := range procfs.Objects(pid, maps) {
			if !yield(o.Path) {
				return
			}
		}
	}
}

// declared names a process that has declared what a selector names, and has not loaded it,
// "" if there is none.
func (d *Search) declared(s *selector.Selector) string {
	if s.Kind != reader.USDT || d.where != "" {
		return ""
	}
	for p, err := range d.inspected() {
		if err != nil {
			continue
		}
		for _, declared := range p.Declared() {
			if s.Match("", declared.Provider, declared.Name) {
				return declared.NotLoaded(p.PID(), 0)
			}
		}
	}
	return ""
}

// inspected returns the processes in which probes are looked for. The next iteration closes
// each.
func (d *Search) inspected() iter.Seq2[*reader.Process, error] {
	pids, err := d.pids()
	if len(d.procs.PIDs) == 0 && d.Members == nil || err != nil {
		return reader.Processes()
	}
	return func(yield func(*reader.Process, error) bool) {
		for _, pid := range pids {
			p, err := reader.OpenProcess(pid)
			more := yield(p, err)
			if p != nil {
				p.Close()
			}
			if !more {
				return
			}
		}
	}
}
