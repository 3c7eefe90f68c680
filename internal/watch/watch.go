package watch

import (
	"os"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/internal/procfs"
)

// Watcher is a process, or tracefs, that watches a site.
type Watcher struct {
	// Kind is "uprobe_multi" or "perf_event" for BPF programs, by their link or
	// event, and "uprobe_events" for events of tracefs, which perf uses as well.
	Kind string `json:"kind"`
	PID  int    `json:"pid,omitempty"`  // the holder; 0 for tracefs, and for links that are only pinned
	Comm string `json:"comm,omitempty"` // of PID
	Link uint32 `json:"link,omitempty"` // the id of a BPF link

	Event string `json:"event,omitempty"` // of uprobe_events: GROUP/NAME
	// Maybe reports that the process has perf events whose sites the kernel does not
	// report.
	Maybe bool `json:"maybe,omitempty"`
}

// Watchers holds all watchers that were found on the machine.
type Watchers struct {
	// Unseen says what could not be read, and why.
	Unseen []error

	sites map[uint64][]watchedSite // by offset in the file
	infos map[string]os.FileInfo
}

// watchedSite is a site, and a watcher that watches it.
type watchedSite struct {
	path    string
	process int // only this one; 0 for all
	watcher Watcher
}

// Find returns the watchers on the whole machine.
func Find() *Watchers {
	w := &Watchers{sites: map[uint64][]watchedSite{}, infos: map[string]os.FileInfo{}}
	links := w.links()
	h := w.holders()
	for _, l := range links {
		holders := h.links[l.watcher.Link]
		if len(holders) == 0 {
			w.add(l.offsets, watchedSite{l.path, l.process, l.watcher})
		}
		for _, p := range holders {
			held := l.watcher
			held.PID, held.Comm = p.pid, p.comm
			w.add(l.offsets, watchedSite{l.path, l.process, held})
		}
	}
	for _, e := range h.events {
		w.add([]uint64{e.Offset}, watchedSite{e.Path, 0, Watcher{Kind: "perf_event", PID: e.pid, Comm: e.comm}})
	}
	w.uprobeEvents(h.unknown)
	return w
}

func (w *Watchers) add(offsets []uint64, p watchedSite) {
	for _, off := range offsets {
		w.sites[off] = append(w.sites[off], p)
	}
}

// At returns the watchers of the place at an offset of a file that process pid, or any if it is 0, has
// mapped: path is its path there, and opens leads to it from here. Call At for sites
// that are watched, because the kernel does not distinguish two files without a name,
// which programs map under equal ones.
func (w *Watchers) At(path, opens string, offset uint64, pid int) []Watcher {
	var out []Watcher
	for _, p := range w.sites[offset] {
		if p.process != 0 && pid != 0 && p.process != pid || !w.same(p, path, opens) {
			continue
		}
		// A process that holds a link to an event also holds the event.
		if p.watcher.PID != 0 && slices.ContainsFunc(out, func(o Watcher) bool { return o.PID == p.watcher.PID }) {
			continue
		}
		if !slices.Contains(out, p.watcher) {
			out = append(out, p.watcher)
		}
	}
	return out
}

// same reports whether a watcher's path is that of a mapped file.
func (w *Watchers) same(p watchedSite, path, opens string) bool {
	// The kernel appends this for files without a name, and for removed ones.
	named := strings.TrimSuffix(p.path, " (deleted)")
	if named == path || named == opens {
		return true
	}
	if strings.HasPrefix(p.path, "/proc/") {
		// A perf event keeps the path with which it was made, most often that of a
		// descriptor that is closed by now.
		a, b := w.info(p.path), w.info(opens)
		return a == nil || b == nil || os.SameFile(a, b) || p.watcher.Kind == "perf_event"
	}
	a, b := w.info(p.path), w.info(opens)
	return a != nil && b != nil && os.SameFile(a, b)
}

func (w *Watchers) info(path string) os.FileInfo {
	info, known := w.infos[path]
	if !known {
		info, _ = procfs.Stat(path) // nil if it leads nowhere
		w.infos[path] = info
	}
	return info
}
