package provider

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/stub"
	"github.com/go-usdt/usdt/internal/sys"
)

// object is a loaded ELF object.
type object struct {
	probes     []loadedProbe
	memory     memory
	first      *uint32 // of its semaphores
	semaphores int
	stays      bool         // since nothing would be won by replacing it
	shown      *shownEvents // nil without Options.EventsDir
}

// loadedProbe is a probe with its place in an object.
type loadedProbe struct {
	*probe
	address uintptr
	counter *uint32
}

// loaded keeps every loaded object reachable until it is closed. A program may
// forget its provider and fire its probes all the same; a collected object's
// file would be closed, and tracers would find it no more.
var loaded = struct {
	sync.Mutex
	objects map[*object]bool
}{objects: map[*object]bool{}}

// memory is where an object is.
type memory interface {
	// Address returns the run-time address of one in the object, Counter the
	// semaphore there.
	Address(uint64) uintptr
	Counter(uint64) *uint32
	// backing returns the object's file if it is kept open, nil if not.
	backing() *os.File
	// release lets go of the object. Nobody executes in it any more, but some
	// may still read its semaphores.
	release() error
}

// load generates the object for probes, gets it into memory and lets them fire
// there. Those of the objects in replaced must be among them; these are closed,
// but for objects that a tracer attached to meanwhile, which are returned. load
// returns an object and an error if its probes fire but Options.EventsDir cannot
// show them, or something could not be released.
func load(provider string, opts *Options, probes []*probe, replaced []*object) (o *object, kept []*object, err error) {
	if !stub.Supported {
		return nil, replaced, ErrNotSupported
	}
	code, err := siteCode(opts.Site)
	if err != nil {
		return nil, replaced, err
	}
	im, err := newImage(provider, code, probes)
	if err != nil {
		return nil, replaced, err
	}
	o = &object{stays: opts.Loader == LoaderDlopen}
	switch opts.Loader {
	case LoaderMap:
		o.memory, err = mapObject(provider, opts, im)
	case LoaderDlopen:
		o.memory, err = dlopenObject(provider, opts, im)
	default:
		err = fmt.Errorf("unknown loader %d", opts.Loader)
	}
	if err != nil {
		return nil, replaced, err
	}
	o.place(im, probes)
	o.attach()
	loaded.Lock()
	loaded.objects[o] = true
	loaded.Unlock()
	kept, err = o.replace(replaced)
	if opts.EventsDir != "" {
		var e error
		o.shown, e = showEvents(opts.EventsDir, provider, o.probes)
		err = errors.Join(err, e)
	}
	return o, kept, err
}

// place notes where im has probes, and the semaphores of all of them.
func (o *object) place(im *image, probes []*probe) {
	o.probes = make([]loadedProbe, len(probes))
	for i, p := range probes {
		o.probes[i] = loadedProbe{p, o.memory.Address(im.site(i)), o.memory.Counter(im.semaphore(i))}
	}
	o.first, o.semaphores = o.memory.Counter(im.probes.Addr), im.semaphores
}

// attach lets the object's probes fire in it.
func (o *object) attach() {
	for _, p := range o.probes {
		atomic.StoreUintptr(&p.site, p.address)
	}
	for _, p := range o.probes {
		p.attach(p.counter)
	}
}

// watched reports whether a tracer has raised one of the object's semaphores.
func (o *object) watched() bool {
	return slices.ContainsFunc(o.probes, func(p loadedProbe) bool { return atomic.LoadUint32(p.counter) != 0 })
}

// replace closes objects whose probes o has, too. A tracer may have attached to
// one of them before its probes fired in o. It must not lose them: they fire
// where they did, and the object is returned.
func (o *object) replace(objects []*object) (kept []*object, err error) {
	var errs []error
	var gone []*object
	for _, old := range objects {
		if old.watched() {
			old.attach()
			o.leave(old.probes)
			kept = append(kept, old)
			continue
		}
		gone = append(gone, old)
	}
	if len(gone) > 0 {
		stub.Quiesce()
	}
	for _, old := range gone {
		errs = append(errs, old.release())
	}
	return kept, errors.Join(errs...)
}

// leave takes probes away from o, in which they have a place that nothing fires
// at.
func (o *object) leave(probes []loadedProbe) {
	elsewhere := make(map[*probe]bool, len(probes))
	for _, p := range probes {
		elsewhere[p.probe] = true
	}
	o.probes = slices.DeleteFunc(o.probes, func(p loadedProbe) bool { return elsewhere[p.probe] })
}

// close withdraws the object's probes. When a probe's site is gone no
// goroutine enters its stub any more; those that are in it are waited for. A
// goroutine that still looks at a semaphore may do so: memory stays readable.
func (o *object) close() error {
	for _, p := range o.probes {
		p.attach(nil)
		atomic.StoreUintptr(&p.site, 0)
	}
	stub.Quiesce()
	return o.release()
}

// release lets go of an object in which nobody executes any more.
func (o *object) release() error {
	loaded.Lock()
	delete(loaded.objects, o)
	loaded.Unlock()
	var err error
	if o.shown != nil {
		err = o.shown.hide()
	}
	return errors.Join(err, o.memory.release())
}

// openImage returns a file that holds im, as opts want it.
func openImage(provider string, opts *Options, im *image) (*os.File, error) {
	switch opts.Backing {
	case BackingMemfd:
		return sys.Memfd("usdt:"+provider, im.bytes)
	case BackingFile:
		return store(opts.Dir, provider+"-"+im.buildID+".so", im.bytes)
	}
	return nil, fmt.Errorf("unknown backing %d", opts.Backing)
}

// fastestSite returns the site that the running kernel traces fastest without
// endangering its host.
func fastestSite() Site {
	optimization := sys.UprobeOptimization()
	if optimization != sys.NoOptimization && sys.PanicsOnWarning() {
		return SiteNop
	}
	switch optimization {
	case sys.OptimizesNop5:
		return SiteNop5
	case sys.OptimizesNop10:
		return SiteNop10
	}
	// Elsewhere a longer nop would be single-stepped, while the plain one is
	// emulated.
	return SiteNop
}

// mapError adds to an error of mapping f executable what mostly is its cause.
func mapError(backing Backing, f *os.File, err error) error {
	var fs unix.Statfs_t
	if backing == BackingFile && unix.Fstatfs(int(f.Fd()), &fs) == nil && fs.Flags&unix.ST_NOEXEC != 0 {
		return fmt.Errorf("%w: its file system is mounted noexec, choose another directory", err)
	}
	return err
}
