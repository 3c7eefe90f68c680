//go:build !usdt_nolocal

package provider

import (
	"encoding/hex"
	"os"
	"sync/atomic"
	"unsafe"

	"github.com/go-usdt/usdt/internal/rendezvous"
	"github.com/go-usdt/usdt/internal/ring"
	"github.com/go-usdt/usdt/internal/sys"
)

// offering is this process's offer to local tracers. There is one for all providers,
// while one of them has Options.Local.
var offering struct {
	sys.Mutex
	users    int
	listener *rendezvous.Listener
}

// offer makes local tracers find the provider's objects, the present and later ones.
// The provider is locked.
func (p *Provider) offer() error {
	offering.Lock()
	defer offering.Unlock()
	if offering.listener == nil || !offering.listener.Loaded() {
		l, err := rendezvous.Listen(&tracers, sys.ReadLine("/proc/self/comm"), socketDirs())
		if err != nil {
			return errorf("offer probes to local tracers: %w (they fire all the same)", err)
		}
		offering.listener = l
	}
	if !p.offered {
		p.offered = true
		offering.users++
	}
	return nil
}

// withdraw ends the offer if no other provider needs it. It waits for goroutines that
// may lock p.
func (p *Provider) withdraw() error {
	p.mu.Lock()
	offered := p.offered
	p.offered = false
	p.mu.Unlock()
	if !offered {
		return nil
	}
	offering.Lock()
	offering.users--
	l := offering.listener
	if offering.users > 0 {
		l = nil
	} else {
		offering.listener = nil
	}
	offering.Unlock()
	if l == nil {
		return nil
	}
	if err := l.Close(); err != nil {
		return errorf("withdraw the offer to local tracers: %w", err)
	}
	return nil
}

// socketDirs are the directories in which a socket may be made for a moment.
func socketDirs() []string {
	dirs := []string{"/dev/shm", "/tmp"}
	if !privileged() {
		dirs = []string{os.Getenv("XDG_RUNTIME_DIR"), "/dev/shm", os.TempDir()}
	}
	return dirs
}

// tracers makes probes record for local tracers. It knows what each of them watches.
var tracers handler

type handler struct {
	sys.Mutex
	watched []watched
}

// watched is a probe that a local tracer watches, or did until Close.
type watched struct {
	ring   *ring.Writer
	number uint32 // of the site in records
	probe  *probe
}

// maxWatched is the largest number of sites that tracers may watch.
const maxWatched = 1 << 17

// localWatcher is what a local tracer adds to a semaphore, for each site: the kernel
// counts in the low 16 bits.
const localWatcher = 1 << 16

// Watch makes a probe record to a ring.
func (h *handler) Watch(w *ring.Writer, s *rendezvous.Site) (refusal uint32) {
	h.Lock()
	defer h.Unlock()
	switch {
	case len(h.watched) == maxWatched:
		return uint32(rendezvous.TooMany)
	case s.Number > ring.MaxSite:
		return uint32(rendezvous.BadNumber)
	}
	id := hex.EncodeToString(s.Object[:])
	var o *object
	loaded.Lock()
	for _, each := range loaded.objects {
		if each.local && each.buildID == id {
			o = each
		}
	}
	loaded.Unlock()
	if o == nil {
		return uint32(rendezvous.NotThere)
	}
	probe, refusal := o.provider.watch(o, w, s)
	if refusal == uint32(rendezvous.Armed) {
		h.watched = append(h.watched, watched{w, s.Number, probe})
	}
	return refusal
}

// watch adds a watcher to the probe that o has at a location.
func (p *Provider) watch(o *object, w *ring.Writer, s *rendezvous.Site) (*probe, uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	address := o.memory.Address(s.Location)
	i, end := 0, len(o.probes) // in the order of their stubs
	for i < end {
		if middle := (i + end) / 2; o.probes[middle].address < address {
			i = middle + 1
		} else {
			end = middle
		}
	}
	// What Close has withdrawn has no site any more.
	if i == len(o.probes) || o.probes[i].address != address || atomic.LoadUintptr(&o.probes[i].site) != address {
		return nil, uint32(rendezvous.NotThere)
	}
	l := &o.probes[i]
	added := &watcher{
		next: l.watchers(), ring: w, counter: l.counter, number: s.Number, limit: s.Layout.Limit, slots: s.Slots,
		stack: s.Layout.Stack.Most,
	}
	var ok bool
	if added.layout, ok = l.sig.accept(s.Layout, s.Slots); !ok {
		return nil, uint32(rendezvous.BadLayout)
	}
	if added.where, ok = l.sig.compile(s.Ranges); !ok {
		return nil, uint32(rendezvous.BadWhere)
	}
	if s.Sample > 1 {
		added.sample = ring.NewSample(s.Sample)
	}
	added.prepare(l.sig)
	// The list comes first: whoever sees the semaphore raised finds the watcher.
	atomic.StorePointer(&l.local, unsafe.Pointer(added))
	atomic.AddUint32(l.counter, localWatcher)
	return l.probe, uint32(rendezvous.Armed)
}

// Forget ends what Watch began.
func (h *handler) Forget(w *ring.Writer, number uint32) { h.end(w, number) }

// End ends it for all sites.
func (h *handler) End(w *ring.Writer) { h.end(w, allSites) }

const allSites = ring.MaxSite + 1

func (h *handler) end(w *ring.Writer, number uint32) {
	h.Lock()
	defer h.Unlock()
	kept := h.watched[:0]
	for _, o := range h.watched {
		if o.ring != w || number != allSites && o.number != number {
			kept = append(kept, o)
			continue
		}
		p := o.probe.group.provider
		p.mu.Lock()
		list, found := o.probe.watchers().without(w, o.number)
		if found != nil { // Close has not ended it
			atomic.StorePointer(&o.probe.local, unsafe.Pointer(list))
			atomic.AddUint32(found.counter, ^uint32(localWatcher-1))
		}
		p.mu.Unlock()
	}
	clear(h.watched[len(kept):])
	h.watched = kept
}

// without returns the list without the watcher of a site, and that watcher. Watchers
// behind it are shared, those before it are copied.
func (w *watcher) without(r *ring.Writer, number uint32) (list, found *watcher) {
	if w == nil {
		return nil, nil
	}
	if w.ring == r && w.number == number {
		return w.next, w
	}
	next, found := w.next.without(r, number)
	if found == nil {
		return w, nil
	}
	copied := *w
	copied.next = next
	return &copied, found
}

// endLocal ends the interests of local tracers in the provider's probes, which are
// about to be withdrawn. The provider is locked.
func (p *Provider) endLocal() {
	for _, o := range p.objects {
		for _, l := range o.probes {
			for w := l.watchers(); w != nil; w = w.next {
				if w.counter != nil {
					atomic.AddUint32(w.counter, ^uint32(localWatcher-1))
				}
			}
			atomic.AndUint32(l.counter, ^uint32(recorderBit))
			atomic.StorePointer(&l.local, nil)
		}
	}
}
