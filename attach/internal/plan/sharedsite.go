package plan

import (
	"fmt"

	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// takenSite is a place that a probe of the plan has, or the first of all if it has no name.
type takenSite struct {
	path           string
	offset         uint64
	pid            int
	provider, name string
}

// sharedSite says which other probes have the site, and refuses what would be attached to
// twice: the kernel runs what is attached to an address, whichever note it comes from.
func (pl *Planner) sharedSite(s *site) {
	all, ok := pl.shared[s.object]
	if !ok {
		all = s.object.Probes.SharedSites()
		pl.shared[s.object] = all
	}
	here := all[s.probe.Location]
	if len(here) == 0 {
		return
	}
	p := s.probe
	at := takenSite{s.Path, s.Offset, s.pid, p.Provider, p.Name}
	if first := pl.taken[at]; first != nil {
		s.Reason = fmt.Errorf("another note of the probe at this address is attached to, and the site fires once%s", difference(first, p))
		return
	}
	anyName := takenSite{path: s.Path, offset: s.Offset, pid: s.pid}
	if first := pl.taken[anyName]; first != nil && first.SemaphoreOffset != p.SemaphoreOffset {
		s.Reason = fmt.Errorf("%s:%s is at this address with another semaphore, and the kernel counts one for each address: an event there may be of either", first.Provider, first.Name)
		return
	}
	pl.taken[at] = p
	if pl.taken[anyName] == nil {
		pl.taken[anyName] = p
	}
	if others := othersAt(here, p); others != "" {
		s.note(fmt.Sprintf("%s at the same address, as where a linker has folded equal code: an event there counts for each, whichever fired", others))
	}
}

// difference says what cannot be known of the events of two notes, "" if the notes are equal.
func difference(first, p *reader.Probe) string {
	switch {
	case first.SemaphoreOffset != p.SemaphoreOffset:
		return "; they have two semaphores, and the kernel counts one for each address"
	case first.Args != p.Args:
		return fmt.Sprintf("; it has the arguments %q, and this one %q: which an event has cannot be told", first.Args, p.Args)
	}
	return ""
}

// maxOthers bounds the probes that a remark names.
const maxOthers = 3

// othersAt names the probes beside p among the notes of its site, with a verb; "" if there
// are none.
func othersAt(here []notes.Note, p *reader.Probe) string {
	text, n := "", 0
	seen := map[string]bool{p.Provider + ":" + p.Name: true}
	for i := range here {
		name := here[i].Provider + ":" + here[i].Name
		if seen[name] {
			continue
		}
		if n++; n > maxOthers {
			return text + " and others are"
		}
		seen[name] = true
		if text != "" {
			text += ", "
		}
		text += name
	}
	switch n {
	case 0:
		return ""
	case 1:
		return text + " is"
	}
	return text + " are"
}
