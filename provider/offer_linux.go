//go:build !usdt_nolocal

package provider

import (
	"encoding/hex"
	"os"
	"slices"
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
	if !sys.Privileged() {
		dirs = []string{os.Getenv("XDG_RUNTIME_DIR"), "/dev/shm", os.TempDir()}
	}
	return dirs
}

// tracers makes probes record for local tracers.
var tracers handler

type handler struct{ sys.Mutex }

// watching is the number of sites that tracers watch.
var watching atomic.Int32

// maxWatched is the largest such number.
const maxWatched = 1 << 17

// localWatcher is what a local tracer adds to a semaphore, for each site: the kernel
// counts in the low 16 bits.
const localWatcher = 1 << 16

// Watch makes a probe record to a ring. A tracer may ask for a site that it watches already,
// since it cannot know what the process has closed and loaded again meanwhile: each ring has
// one watcher of a probe, whatever the order, so that no event comes twice.
func (h *handler) Watch(w *ring.Writer, s *rendezvous.Site) (refusal uint32) {
	h.Lock()
	defer h.Unlock()
	switch {
	case watching.Load() >= maxWatched:
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
	return o.provider.watch(o, w, s)
}

// watch makes w the ring's watcher of the probe that o has at a location.
func (p *Provider) watch(o *object, w *ring.Writer, s *rendezvous.Site) (refusal uint32) {
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
	// Probes that Close has withdrawn have no site.
	if i == len(o.probes) || o.probes[i].address != address || atomic.LoadUintptr(&o.probes[i].site) != address {
		return uint32(rendezvous.NotThere)
	}
	l := &o.probes[i]
	others, replaced := l.watchers().without(w, allSites)
	added := &watcher{
		next: others, ring: w, counter: l.counter, number: s.Number, limit: s.Layout.Limit, slots: s.Slots,
		stack: s.Layout.Stack.Most,
	}
	var ok bool
	if added.layout, ok = l.sig.accept(s.Layout, s.Slots); !ok {
		return uint32(rendezvous.BadLayout)
	}
	if added.where, ok = l.sig.compile(s.Ranges); !ok {
		return uint32(rendezvous.BadWhere)
	}
	if s.Sample > 1 {
		added.sample = ring.NewSample(s.Sample)
	}
	added.prepare(l.sig)
	// The list comes first: whoever sees the semaphore raised finds the watcher.
	atomic.StorePointer(&l.local, unsafe.Pointer(added))
	if replaced == nil {
		atomic.AddUint32(l.counter, localWatcher)
		watching.Add(1)
	}
	return uint32(rendezvous.Armed)
}

// Forget ends what Watch began.
func (h *handler) Forget(w *ring.Writer, number uint32) { h.end(w, number) }

// End ends it for all sites.
func (h *handler) End(w *ring.Writer) { h.end(w, allSites) }

const allSites = ring.MaxSite + 1

func (h *handler) end(w *ring.Writer, number uint32) {
	h.Lock()
	defer h.Unlock()
	loaded.Lock()
	objects := slices.Clone(loaded.objects)
	loaded.Unlock()
	for _, o := range objects {
		if o.local {
			o.provider.unwatch(o, w, number)
		}
	}
}

// unwatch ends what watch began for a site of the ring, or for all, as far as they are in o.
func (p *Provider) unwatch(o *object, w *ring.Writer, number uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range o.probes {
		if others, found := l.watchers().without(w, number); found != nil {
			atomic.StorePointer(&l.local, unsafe.Pointer(others))
			found.end()
		}
	}
}

// end takes a watcher that nobody finds any more from the semaphore.
func (w *watcher) end() {
	atomic.AddUint32(w.counter, ^uint32(localWatcher-1))
	watching.Add(-1)
}

// without returns the list without the watcher of a site of the ring, or without the ring's,
// and that watcher. Watchers
// behind it are shared, those before it are copied.
func (w *watcher) without(r *ring.Writer, number uint32) (list, found *watcher) {
	if w == nil {
		return nil, nil
	}
	if w.ring == r && (w.number == number || number == allSites) {
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
					w.end()
				}
			}
			atomic.AndUint32(l.counter, ^uint32(recorderBit))
			atomic.StorePointer(&l.local, nil)
		}
	}
}
