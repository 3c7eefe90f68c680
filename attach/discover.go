package attach

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/overlay"
	"github.com/go-usdt/usdt/attach/internal/privilege"
	"github.com/go-usdt/usdt/attach/internal/process"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/reader"
)

// ErrNoMatch is wrapped by the error of Open if no probe matches a selector.
var ErrNoMatch = errors.New("no probe matches")

// ErrNoSite is wrapped by the error of Open if probes match and none of their
// sites could be attached to.
var ErrNoSite = errors.New("no site could be attached to")

// discover returns the sites that the selectors name, each once per process,
// with Probe and PID set.
// Files that cannot be read are left out: with other matches they do not
// matter, and without any they are the reason in the error.
func (d *discovery) discover() (Plan, error) {
	plan, err := d.more()
	if err != nil {
		return nil, err
	}
	for i, ok := range d.matched {
		if !ok {
			return plan, d.noMatch(i)
		}
	}
	return plan, nil
}

// newDiscovery returns a search that ends with the cause of ctx when that is done.
func newDiscovery(ctx context.Context, selectors []string, procs *process.Set) (*discovery, error) {
	parsed, err := parseSelectors(selectors)
	if err != nil {
		return nil, err
	}
	return &discovery{
		ctx:       ctx,
		selectors: parsed, procs: procs, matched: make([]bool, len(selectors)), near: make([]near, len(selectors)),
		seen: map[siteKey]bool{}, read: map[procfs.ID]*fileState{}, mapped: map[int]map[procfs.ID]bool{}, functions: map[string]int{},
		lower: map[overlay.Inode]*fileState{}, places: map[place]placed{}, files: map[int]map[procfs.ID]*mappedFile{},
	}, nil
}

// more returns the sites that have not been returned before. Processes must not
// have ended when it is first called.
func (d *discovery) more() (Plan, error) {
	d.chunks, d.troubles, d.infos = nil, nil, map[string]os.FileInfo{}
	var err error
	if len(d.procs.PIDs) > 0 {
		err = d.processes()
	} else {
		err = d.machine()
	}
	if err == nil {
		err = context.Cause(d.ctx)
	}
	if err != nil {
		return nil, err
	}
	d.again = true
	return slices.Concat(d.chunks...), nil
}

// siteKey tells the sites of a process apart: an object that it has mapped
// twice has its sites twice. A path would not do for the file: another file may
// have it by now, and a file that is mapped may have lost it.
type siteKey struct {
	pid            int
	kind           reader.ProbeKind
	offset         uint64
	file           procfs.ID
	provider, name string
}

type discovery struct {
	ctx       context.Context
	selectors []selector.Selector
	procs     *process.Set
	matched   []bool
	near      []near // what selectors without a match may have meant
	chunks    []Plan // of the sites: growing one slice would copy them again and again
	seen      map[siteKey]bool
	read      map[procfs.ID]*fileState     // files, without a process
	lower     map[overlay.Inode]*fileState // those of read that are on overlays
	places    map[place]placed             // those of read whose ids maps give to others, too
	inodes    overlay.Inodes
	mapped    map[int]map[procfs.ID]bool        // files of processes, as last seen
	objects   []*procfs.Object                  // those of the process being looked at
	files     map[int]map[procfs.ID]*mappedFile // those of named processes that have sites
	infos     map[string]os.FileInfo            // of what paths lead to, in this look; nil of nothing
	again     bool                              // not the first time
	await     bool                              // what selectors name by path need not be mapped yet
	expected  map[string]bool                   // paths that were expected, see expect
	scan      int                               // number of the scan of all processes
	hidden    map[int]hiddenSince               // processes that may not be looked at
	ended     []owner                           // see settle and leaveUnmapped
	troubles  []error
	privilege *privilege.Error // what kept files of d.procs from being read
	functions map[string]int   // how many were looked at, by the path of their object
}

// add keeps the probe if a selector names it, and returns what it has become.
func (d *discovery) add(p *reader.Probe, pid int) *Site {
	hit := false
	for i := range d.selectors {
		if d.selectors[i].Match(p.Path, p.Provider, p.Name) {
			d.matched[i], hit = true, true
		} else if !d.matched[i] {
			d.nearProbe(i, p)
		}
	}
	if !hit {
		return nil
	}
	return d.keep(p, pid)
}

// keep makes the probe a site, and returns it if it was none before.
func (d *discovery) keep(p *reader.Probe, pid int) *Site {
	var key siteKey
	if pid != 0 {
		key = siteKey{pid, p.Kind, p.Offset, d.fileOf(p), p.Provider, p.Name}
		if d.seen[key] {
			return nil
		}
		d.seen[key] = true
	}
	last := len(d.chunks) - 1
	if last < 0 || len(d.chunks[last]) == cap(d.chunks[last]) {
		d.chunks = append(d.chunks, make(Plan, 0, min(16<<max(last, 0), 4096)))
		last = len(d.chunks) - 1
	}
	d.chunks[last] = append(d.chunks[last], Site{Probe: *p, PID: pid})
	s := &d.chunks[last][len(d.chunks[last])-1]
	if pid != 0 {
		d.keepMapped(s, key)
	}
	return s
}

// interrupted says that what is found is of no use any more: whoever looks into
// something long asks between two parts of it.
func (d *discovery) interrupted() bool { return context.Cause(d.ctx) != nil }

// fileOf returns the id of the file that the probe's path leads to, none if that
// is not the probe's any more.
func (d *discovery) fileOf(p *reader.Probe) (id procfs.ID) {
	path := p.Attachable()
	info, ok := d.infos[path]
	if !ok {
		info, _ = os.Stat(path)
		d.infos[path] = info
	}
	if info == nil || !p.IsIn(info) {
		return id
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		id = procfs.ID{Dev: st.Dev, Inode: st.Ino}
	}
	return id
}

func (d *discovery) processes() error {
	d.ended = nil
	if d.await {
		d.expect(d.procs.PIDs)
	}
	for _, pid := range d.procs.PIDs {
		if d.interrupted() {
			return nil
		}
		if d.again && d.procs.Ended(pid) {
			delete(d.mapped, pid)
			continue
		}
		before := d.mark()
		err := d.process(pid)
		if d.procs.Ended(pid) {
			d.undo(before) // it may have been found in another one
			if err == nil && !d.again {
				err = procfs.Error(pid, unix.ESRCH)
			}
		}
		if err != nil && !d.again {
			return err
		}
	}
	d.leaveUnmapped()
	return nil
}

// mark is what a search has found until now.
type mark struct {
	chunks, last int
	matched      []bool
	near         []near
}

func (d *discovery) mark() mark {
	m := mark{chunks: len(d.chunks), matched: slices.Clone(d.matched), near: slices.Clone(d.near)}
	if m.chunks > 0 {
		m.last = len(d.chunks[m.chunks-1])
	}
	return m
}

// undo forgets what has been found since.
func (d *discovery) undo(m mark) {
	d.chunks, d.matched, d.near = d.chunks[:m.chunks], m.matched, m.near
	if m.chunks > 0 {
		d.chunks[m.chunks-1] = d.chunks[m.chunks-1][:m.last]
	}
}

// process looks at what process pid has mapped.
func (d *discovery) process(pid int) error {
	if !d.changed(pid) {
		return nil
	}
	proc, err := reader.OpenProcess(pid)
	if err != nil {
		if errors.Is(err, os.ErrPermission) {
			return unreadable(pid, err)
		}
		return err
	}
	defer proc.Close()
	if d.wantsProbes() {
		for p, err := range proc.Probes() {
			if d.interrupted() {
				break
			}
			if err != nil {
				d.trouble(err, pid)
				continue
			}
			d.add(&p, pid)
		}
	}
	if d.wantsFunctions() {
		for fn, err := range proc.Functions(d.mayHaveFunctions) {
			if d.interrupted() {
				break
			}
			if err != nil {
				d.trouble(err, pid)
				continue
			}
			d.addFunction(&fn, pid)
		}
		for p, err := range proc.Instructions(d.addresses) {
			if err != nil {
				d.trouble(err, pid)
				continue
			}
			d.addInstruction(&p, pid)
		}
	}
	return nil
}

// unreadable returns the error for a process whose memory map may not be read: to
// root, too, if a security module says so, or the process is of a container's
// host.
func unreadable(pid int, err error) error {
	e := &privilege.Error{Op: fmt.Sprintf("read the memory map of process %d", pid), Err: err}
	if !privilege.Has(unix.CAP_SYS_PTRACE) {
		e.Missing = []string{"CAP_SYS_PTRACE"}
	}
	return e
}

// trouble keeps the error of a file that process pid has mapped.
func (d *discovery) trouble(err error, pid int) {
	d.troubles = append(d.troubles, err)
	if errors.Is(err, os.ErrPermission) && !privilege.Has(unix.CAP_SYS_PTRACE) {
		d.privilege = &privilege.Error{Op: fmt.Sprintf("open the files that process %d has mapped", pid), Missing: []string{"CAP_SYS_PTRACE"}, Err: err}
	}
}

// changed reports whether the process may have files mapped that it had not
// when it was last asked. A file that was unmapped meanwhile counts as another:
// its id may be given to one.
func (d *discovery) changed(pid int) bool {
	maps, err := procfs.Maps(pid)
	if err != nil {
		return true // reading the process says what is wrong
	}
	known, now := d.mapped[pid], map[procfs.ID]bool{}
	changed := known == nil
	d.objects = procfs.Objects(pid, maps)
	for _, o := range d.objects {
		now[o.ID] = true
		changed = changed || !known[o.ID]
	}
	d.mapped[pid] = now
	d.missing(pid, now)
	return changed
}

func (d *discovery) mayMatch(path string) bool {
	return slices.ContainsFunc(d.selectors, func(s selector.Selector) bool { return s.MatchPath(path) })
}

func (d *discovery) file(f *reader.File, state *fileState, path, open string) {
	if d.mayHaveFunctions(path) {
		d.fileFunctions(f, state, path, open)
	}
	if !d.wantsProbes() {
		return
	}
	for p, err := range f.Probes() {
		if d.interrupted() {
			return
		}
		if err != nil {
			d.troubles = append(d.troubles, err)
			continue
		}
		p.Path, p.OpenPath = path, open
		if s := d.add(&p, 0); s != nil {
			s.file, state.matched = state.id, true
		}
	}
}

// SelectorError says why a selector cannot be understood.
type SelectorError struct {
	Selector string // "" if there is none at all
	Err      error
}

func (e *SelectorError) Error() string { return e.Err.Error() }
func (e *SelectorError) Unwrap() error { return e.Err }

func parseSelector(s string) (selector.Selector, error) {
	sel, err := selector.Parse(s)
	if err != nil {
		return sel, &SelectorError{s, err}
	}
	return sel, nil
}

func parseSelectors(selectors []string) ([]selector.Selector, error) {
	if len(selectors) == 0 {
		return nil, &SelectorError{Err: errors.New("no selector: name at least one, as [PATH:]PROVIDER:NAME")}
	}
	var out []selector.Selector
	for _, s := range selectors {
		sel, err := parseSelector(s)
		if err != nil {
			return nil, err
		}
		out = append(out, sel)
	}
	all := make([]*selector.Selector, len(out))
	for i := range out {
		all[i] = &out[i]
	}
	selector.Unite(all...)
	return out, nil
}
