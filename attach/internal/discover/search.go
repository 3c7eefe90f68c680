package discover

import (
	"context"
	"errors"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/go-usdt/usdt/attach/internal/maplog"
	"github.com/go-usdt/usdt/attach/internal/overlay"
	"github.com/go-usdt/usdt/attach/internal/process"
	"github.com/go-usdt/usdt/internal/kernelsites"
	"github.com/go-usdt/usdt/internal/privilege"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/reader"
)

// ErrNoMatch is wrapped by the error of [Search.First] if no probe matches a selector.
var ErrNoMatch = errors.New("no probe matches")

// Search finds sites, and returns each of them once.
type Search struct {
	// Await says that files which selectors name by path need not be mapped, or
	// exist, yet.
	Await bool
	// Exe and Comm are the path of the program, or its name, that the processes run which
	// are traced, if not all are: its files are searched before one of them starts.
	Exe, Comm string
	// Selects reports whether a process is one of those; nil if all are. Files that only others
	// have mapped are left alone.
	Selects func(pid int) bool
	// Members returns the processes that are searched in place of all; nil for all. A selector
	// that has a path also names only files of these, unless Await.
	Members func() ([]int, error)
	// Passing says that named processes may end at any time, also before they are
	// read for the first time.
	Passing bool
	// Later says that what matches nothing yet is awaited by later looks: First does not wait for
	// it, so that the rest is attached to at once.
	Later bool
	// Among says in errors which processes are searched, unless they have been named.
	Among string
	// Ended says, after a look, which sites are to be detached from: see
	// forgetUnmapped and leaveUnmapped.
	Ended []Owner

	selectors []selector.Selector
	procs     *process.Set
	where     string          // the selectors are looked for, if not in files and processes
	probes    []reader.Probe  // what there is
	providers map[string]bool // of named processes, as patterns; some of them
	matched   []bool
	hot       []int                 // by selector: sites of the kernel that were left out
	inKernel  *kernelsites.Search   // nil before sites of the kernel were looked for
	near      []near                // by selector: what one without a match may have meant
	again     bool                  // not the first look
	words     [][]string            // by selector, see wordsOf
	thorough  bool                  // see eachFunction
	code      map[string]objectCode // by path, see readCode
	functions map[string]int        // how many were looked at, by the path of their object

	// State of the current look:
	ctx       context.Context
	found     Sites
	infos     map[string]os.FileInfo // of the files that paths lead to; nil if there is none
	objects   []*procfs.Object       // in the process being looked at
	troubles  []error
	privilege *privilege.Error // what kept files of d.procs from being read

	// State of named processes:
	seen    map[siteKey]bool
	mapped  map[int]map[procfs.ID]bool        // files, as last seen
	files   map[int]map[procfs.ID]*mappedFile // files that have sites
	awaited map[string]bool                   // paths, see awaitFiles

	// State of all processes:
	scan     int                          // its number
	rest     []int                        // processes that it has not looked at yet
	news     *maplog.News                 // nil if scans must do
	read     map[procfs.ID]*fileState     // files that were looked at
	lower    map[overlay.Inode]*fileState // the part of read that is on overlays
	mappings map[mapping]mappingState     // files of read that share ids in /proc/PID/maps
	inodes   overlay.Inodes
	hidden   map[int]hiddenScans // processes that may not, or cannot, be inspected
	copied   copiedCode
}

// New returns a search in the processes, or in all if procs names none.
func New(selectors []selector.Selector, procs *process.Set) *Search {
	d := &Search{
		selectors: selectors, procs: procs, matched: make([]bool, len(selectors)), hot: make([]int, len(selectors)), near: make([]near, len(selectors)), functions: map[string]int{}, providers: map[string]bool{}, code: map[string]objectCode{},
		seen: map[siteKey]bool{}, mapped: map[int]map[procfs.ID]bool{}, files: map[int]map[procfs.ID]*mappedFile{},
		read: map[procfs.ID]*fileState{}, lower: map[overlay.Inode]*fileState{}, mappings: map[mapping]mappingState{},
	}
	for i := range selectors {
		d.words = append(d.words, wordsOf(&selectors[i]))
	}
	return d
}

// First returns the sites that the selectors name, each once per process.
// It leaves out files that cannot be read; if nothing else matches, the error
// gives them as the reason.
func (d *Search) First(ctx context.Context) (Sites, error) {
	found, err := d.More(ctx)
	if err != nil {
		return nil, err
	}
	for i := range d.selectors {
		if !d.matched[i] && d.selectors[i].Kind.InKernel() {
			return found, d.noMatch(i)
		}
	}
	for try := 0; ; try++ {
		i := slices.Index(d.matched, false)
		if i < 0 {
			return found, nil
		}
		if d.Later || len(d.procs.PIDs) == 0 && d.Members == nil || try == reloadTries || try > reloadTries/2 && d.declared(&d.selectors[i]) == "" {
			return found, d.noMatch(i)
		}
		// A service may be closing its providers and loading them again.
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(time.Duration(try+1) * time.Millisecond): // never in step with the service
		}
		more, err := d.More(ctx)
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
}

// reloadTries is how often a service is looked at that may be closing and loading its probes,
// in a second in all, or in a quarter of that if it has not declared what is looked for.
const reloadTries = 45

// More returns the sites that have not been returned before. Processes must not
// have ended when it is first called. When ctx is done, More returns its cause.
func (d *Search) More(ctx context.Context) (Sites, error) {
	d.rest = nil
	return d.some(ctx, func() bool { return false })
}

// Halfway reports whether a look has ended early, and the next one goes on.
func (d *Search) Halfway() bool { return len(d.rest) > 0 }

// some is More, and ends early when urgent says so. The next call goes on.
func (d *Search) some(ctx context.Context, urgent func() bool) (Sites, error) {
	d.begin(ctx)
	var err error
	if !d.again && d.namesKernel() {
		if err := d.kernel(); err != nil {
			return nil, err
		}
	}
	if d.onlyKernel() && len(d.selectors) > 0 {
		// Nothing is in files.
	} else if len(d.procs.PIDs) > 0 {
		err = d.processes()
	} else {
		err = d.machine(urgent)
	}
	if err == nil {
		err = context.Cause(d.ctx)
	}
	if err != nil {
		return nil, err
	}
	d.again = true
	return d.found, nil
}

// begin begins a look.
func (d *Search) begin(ctx context.Context) {
	d.ctx, d.found, d.troubles, d.infos, d.Ended = ctx, nil, nil, map[string]os.FileInfo{}, nil
}

// siteKey identifies a site of a process: an object that is mapped twice has its
// sites twice. A path would not identify the file: another file may have it by
// now, and a mapped file may have lost it.
type siteKey struct {
	pid            int
	kind           reader.ProbeKind
	offset         uint64
	file           procfs.ID
	provider, name string
	args           string // two notes of one site may differ, which the planner says
	semaphore      uint64
}

// add keeps the probe if a selector names it, and returns its site.
func (d *Search) add(p *reader.Probe, pid int) *Site {
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

// keep makes the probe a site, and returns the site if it is new.
func (d *Search) keep(p *reader.Probe, pid int) *Site {
	var key siteKey
	if pid != 0 {
		key = siteKey{pid, p.Kind, p.Offset, d.fileOf(p), p.Provider, p.Name, p.Args, p.Semaphore}
		if d.seen[key] {
			return nil
		}
		d.seen[key] = true
	}
	last := len(d.found) - 1
	if last < 0 || len(d.found[last]) == cap(d.found[last]) {
		d.found = append(d.found, make([]Site, 0, min(16<<max(last, 0), 4096)))
		last = len(d.found) - 1
	}
	d.found[last] = append(d.found[last], Site{Probe: *p, PID: pid})
	s := &d.found[last][len(d.found[last])-1]
	if pid != 0 && !d.keepMapped(s, key) {
		// The process has unmapped the file, and may map it again before the next look.
		delete(d.seen, key)
		delete(d.mapped, pid)
		d.found[last] = d.found[last][:len(d.found[last])-1]
		return nil
	}
	return s
}

// interrupted reports whether ctx is done, so that results are no longer needed.
// Long searches call it between their parts.
func (d *Search) interrupted() bool { return context.Cause(d.ctx) != nil }

// fileOf returns the id of the file that the probe's path leads to, none if that
// is no longer the probe's file.
func (d *Search) fileOf(p *reader.Probe) (id procfs.ID) {
	path := p.Attachable()
	info, ok := d.infos[path]
	if !ok {
		info, _ = procfs.Stat(path)
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

// mayMatch reports whether a selector may name something in the file at path.
func (d *Search) mayMatch(path string) bool {
	return slices.ContainsFunc(d.selectors, func(s selector.Selector) bool { return s.MatchPath(path) })
}

// file searches an open file, which can be opened again by the path open.
func (d *Search) file(f *reader.File, state *fileState, path, open string) {
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
		d.addIn(p, state, path, open)
	}
}

// addIn adds the probe of a file if a selector names it.
func (d *Search) addIn(p reader.Probe, state *fileState, path, open string) {
	p.Path, p.OpenPath = path, open
	if s := d.add(&p, 0); s != nil {
		s.File, state.matched = state.id, true
	}
}

// amongFunctions keeps the probe of a function if a selector names it, or all that there is.
func (d *Search) amongFunctions(p *reader.Probe) bool {
	hit := false
	for i := range d.selectors {
		if s := &d.selectors[i]; Selects(s, p) || s.String() == "*:*" {
			d.matched[i], hit = true, true
		}
	}
	if hit {
		d.keep(p, 0)
	}
	return hit
}

// Among returns the probes that selectors name, and their places. where says
// in an error where the probes are. The search finds nothing more.
func Among(selectors []selector.Selector, probes []reader.Probe, where string) (d *Search, found Sites, which []int, err error) {
	d = New(selectors, &process.Set{})
	d.where, d.probes = where, probes
	for i := range probes {
		if p := &probes[i]; p.Kind != reader.USDT && !d.amongFunctions(p) || p.Kind == reader.USDT && d.add(p, 0) == nil {
			continue
		}
		which = append(which, i)
	}
	for i, ok := range d.matched {
		if !ok {
			return d, d.found, which, d.noMatch(i)
		}
	}
	return d, d.found, which, nil
}
