package source

import (
	"encoding/binary"
	"slices"
	"sync/atomic"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/rendezvous"
	"github.com/go-usdt/usdt/internal/ring"
)

// Process is a process that shares memory with this one.
type Process struct {
	*rendezvous.Session
	PID   int
	Sites atomic.Pointer[[]Site] // by their numbers in the ring

	Owners   []discover.Owner // with which its sites end; the search for sites has them
	asked    []askedSite      // that are there, or were or may be while a provider is loaded
	Reloaded atomic.Bool      // it has published probes
	Left     bool             // the search finds its sites again

	read     uint64 // records taken from the ring
	held     bool   // left out of the last round
	filtered atomic.Uint64
	strange  atomic.Uint64 // records that no site has
}

// askedSite is what a process was asked to record at.
type askedSite struct {
	rendezvous.Site
	owner discover.Owner
	there bool // or the process had closed its provider already
}

// Asked notes that the process was asked to record at a site of a file, and whether it is there, or
// its provider was closed already.
func (s *Process) Asked(site rendezvous.Site, owner discover.Owner, there bool) {
	s.asked = append(s.asked, askedSite{site, owner, there})
}

// Rewatch asks the process again for all sites: sites that it has closed and loaded again
// record no more. It returns the files of sites that were not there before.
func (s *Process) Rewatch() (there []discover.Owner) {
	sites := make([]rendezvous.Site, len(s.asked))
	for i := range sites {
		sites[i] = s.asked[i].Site
	}
	refused, _ := s.Watch(sites) // of a process that does not answer no event comes
	for i, why := range refused {
		if a := &s.asked[i]; why == nil && !a.there && !slices.Contains(there, a.owner) {
			there = append(there, a.owner)
		}
	}
	s.asked = slices.DeleteFunc(s.asked, func(a askedSite) bool { return slices.Contains(there, a.owner) })
	return there
}

// Leave makes the process record no more at the sites of files that it has closed. Else it
// would take a file of the same contents for the one that it has closed.
func (s *Process) Leave(files []discover.Owner) error {
	var numbers []uint32
	s.asked = slices.DeleteFunc(s.asked, func(a askedSite) bool {
		gone := slices.Contains(files, a.owner)
		if gone {
			numbers = append(numbers, a.Number)
		}
		return gone
	})
	return s.Forget(numbers)
}

// Site is a site whose records are in a ring.
type Site struct {
	Number uint32 // among all sites of the tracing
	Schema *bind.Schema
	Tested bool // the process has tested the condition, and sampled

	Begun   *atomic.Uint64 // when all sites recorded that were found with it, 0 before
	Sampled *uint64        // events that have passed, of which one in so many is delivered
}

// IsGone reports whether the process has ended the session.
func (s *Process) IsGone() bool {
	select {
	case <-s.Gone:
		return true
	default:
		return false
	}
}

// admit gives a record the number that its site has in the tracing. It reports whether
// the record passes the condition, and returns it without the text that was only for
// that.
func (s *Process) admit(rec []byte, r *Rings) ([]byte, bool) {
	sites := *s.Sites.Load()
	number := record.Record(rec).Site()
	if uint64(number) >= uint64(len(sites)) {
		s.strange.Add(1)
		return rec, false
	}
	site := &sites[number]
	binary.NativeEndian.PutUint32(rec[record.Site:], site.Number)
	if !r.within(site, record.Record(rec).Time()) {
		s.filtered.Add(1)
		return rec, false
	}
	if !r.tests {
		return rec, true
	}
	wide := site.Schema.Computed
	if !site.Tested && !(r.filter.Passes(wide, rec) && site.sample(r.sample)) {
		s.filtered.Add(1)
		return rec, false
	}
	if narrow := site.Schema.Sig; narrow.Limit < wide.Limit {
		rec = wide.Shorten(rec, narrow.Limit)
	}
	return rec, true
}

// sample reports whether an event is one in n.
func (s *Site) sample(n int) bool {
	*s.Sampled++
	return n <= 1 || (*s.Sampled-1)%uint64(n) == 0
}

// Counts returns what became of events before they could be received.
func (s *Process) Counts() Counts { return s.stats(s.Ring.Counts()) }

// finalCounts is counts for a process of which no more is read: what it says that it has
// recorded, and was not read, is lost. It may say anything.
func (s *Process) finalCounts() Counts {
	n := s.Ring.Counts()
	unread := max(n.Recorded, s.read) - s.read
	n.Recorded = s.read + unread
	st := s.stats(n)
	st.Lost += unread
	return st
}

func (s *Process) stats(n ring.Counts) Counts {
	return Counts{
		Fired: n.Fired(), Lost: n.Lost() + s.strange.Load(), Filtered: n.Filtered + s.filtered.Load(),
		Full: n.Full, Contended: n.Contended,
	}
}

// Of returns the last session with a process, nil if there is none.
func (r *Rings) Of(pid int) *Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range slices.Backward(r.all) {
		if s.PID == pid && !s.IsGone() {
			return s
		}
	}
	return nil
}
