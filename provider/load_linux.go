package provider

import (
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/await"
	"github.com/go-usdt/usdt/internal/owned"
	"github.com/go-usdt/usdt/internal/stub"
	"github.com/go-usdt/usdt/internal/sys"
)

// object is a loaded ELF object.
type object struct {
	probes     []loadedProbe
	memory     memory
	first      *uint32 // the first of its semaphores
	semaphores int
	stays      bool // because replacing it would gain nothing
	buildID    string
	provider   *Provider
	local      bool         // offered to local tracers
	shown      *shownEvents // nil without Options.EventsDir
}

// loadedProbe is a probe with its place in an object.
type loadedProbe struct {
	*probe
	address uintptr
	counter *uint32
}

// loaded keeps every loaded object reachable until it is closed. A program may forget
// its provider and still fire its probes; if the object were collected, its file
// would be closed and tracers would no longer find it.
var loaded struct {
	sys.Mutex
	objects []*object
}

// memory is where an object is.
type memory interface {
	// Address returns the run-time address of an address in the object; Counter
	// returns the semaphore there.
	Address(uint64) uintptr
	Counter(uint64) *uint32
	// backing returns the object's file if it is kept open, nil if not.
	backing() *os.File
	// release gives up the object. No goroutine executes in it any more, but some may
	// still read its semaphores.
	release() error
}

// load generates the object for probes, gets it into memory and lets the probes fire
// there. probes must include the probes of the objects in replaced. load closes these
// objects, except objects that a tracer has attached to meanwhile, and returns the exceptions. It
// returns both an object and an error if the probes fire but Options.EventsDir cannot show them,
// or if something could not be released.
func load(p *Provider, opts *Options, probes []*probe, replaced []*object) (o *object, kept []*object, err error) {
	if !stub.Supported {
		return nil, replaced, ErrNotSupported
	}
	code, err := siteCode(opts.Site)
	if err != nil {
		return nil, replaced, err
	}
	im, err := newImage(p.name, code, probes)
	if err != nil {
		return nil, replaced, err
	}
	o = &object{stays: opts.Loader == LoaderDlopen, buildID: im.buildID, provider: p, local: opts.Local}
	switch opts.Loader {
	case LoaderMap:
		o.memory, err = mapObject(p.name, opts, im)
	case LoaderDlopen:
		o.memory, err = dlopenObject(p.name, opts, im)
	default:
		err = errorf("unknown loader %d", opts.Loader)
	}
	if err != nil {
		return nil, replaced, err
	}
	o.setProbes(im, probes)
	recordErr := o.record(opts) // the probes fire all the same
	o.attach()
	loaded.Lock()
	loaded.objects = append(loaded.objects, o)
	loaded.Unlock()
	kept, err = o.replace(replaced)
	err = join(recordErr, err)
	if opts.EventsDir != "" {
		var e error
		o.shown, e = showEvents(opts.EventsDir, p.name, o.probes)
		err = join(err, e)
	}
	return o, kept, err
}

// setProbes records where im has probes, and the semaphores of all of them.
func (o *object) setProbes(im *image, probes []*probe) {
	o.probes = make([]loadedProbe, len(probes))
	for i, p := range probes {
		o.probes[i] = loadedProbe{p, o.memory.Address(im.site(i)), o.memory.Counter(im.semaphore(i))}
	}
	o.first, o.semaphores = o.memory.Counter(im.probes.Addr), im.semaphores
}

// attach makes the object's probes fire in it.
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
	for _, p := range o.probes {
		if atomic.LoadUint32(p.counter)&^recorderBit != 0 {
			return true
		}
	}
	return false
}

// replace closes objects whose probes o also has. A tracer may have attached to one of them
// before its probes fired in o. The tracer must not lose them, so these probes keep firing where
// they did, and replace returns the object.
func (o *object) replace(objects []*object) (kept []*object, err error) {
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
		err = join(err, old.release())
	}
	return kept, err
}

// leave takes probes away from o. Nothing fires at their places in it. Both lists are in
// the order of compareProbes.
func (o *object) leave(probes []loadedProbe) {
	left := o.probes[:0]
	for _, p := range o.probes {
		for len(probes) > 0 && compareProbes(probes[0].probe, p.probe) < 0 {
			probes = probes[1:]
		}
		if len(probes) == 0 || probes[0].probe != p.probe {
			left = append(left, p)
		}
	}
	clear(o.probes[len(left):])
	o.probes = left
}

// close withdraws the object's probes. Once a probe's site is gone, no goroutine
// enters its stub any more; close waits for goroutines that are in it. A goroutine that still
// looks at a semaphore may do so: memory stays readable.
func (o *object) close() error {
	for _, p := range o.probes {
		p.attach(nil)
		atomic.StoreUintptr(&p.site, 0)
	}
	stub.Quiesce()
	return o.release()
}

// release gives up an object in which no goroutine executes any more.
func (o *object) release() error {
	loaded.Lock()
	loaded.objects = remove(loaded.objects, func(other *object) bool { return other == o })
	loaded.Unlock()
	var err error
	if o.shown != nil {
		err = o.shown.hide()
	}
	return join(err, o.memory.release())
}

// openImage returns a file of the kind that opts wants, holding im.
func openImage(provider string, opts *Options, im *image) (*os.File, error) {
	switch opts.Backing {
	case BackingMemfd:
		return sys.Memfd("usdt:"+provider, im.bytes)
	case BackingFile:
		return owned.Store(opts.Dir, provider+"-"+im.buildID+".so", im.bytes)
	}
	return nil, errorf("unknown backing %d", opts.Backing)
}

// fastestSite returns the site that the running kernel traces fastest without
// endangering the host.
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
	// Other kernels would single-step a longer nop, while they emulate the plain one.
	return SiteNop
}

// mapError adds the usual cause to an error of mapping f executable.
func mapError(backing Backing, f *os.File, err error) error {
	var fs unix.Statfs_t
	if backing == BackingFile && unix.Fstatfs(int(f.Fd()), &fs) == nil && fs.Flags&unix.ST_NOEXEC != 0 {
		return errorf("%w: its file system is mounted noexec, choose another directory", err)
	}
	return err
}

// tracerTime is the longest time that a program waits for its tracer, in all. A tracer on a
// busy machine may need seconds, and who has it start a program wants all events; one that
// has ended is not waited for.
var tracerTime = 10 * time.Second

// tracerGone records that the tracer has not answered; it is not asked again.
var tracerGone atomic.Bool

// tracerWaits reports whether a tracer has started this program, and answers.
func tracerWaits() bool {
	return os.Getenv(await.Variable) != "" && !sys.Privileged() && !tracerGone.Load()
}

// awaitTracer waits for the tracer that has started this program, if one has, to
// attach to probes that have just been loaded.
func awaitTracer() {
	// A missing tracer is no error of the program.
	if tracerWaits() && await.Tracer(os.Getenv(await.Variable), tracerTime) != nil {
		tracerGone.Store(true)
	}
}

// loadsEarly reports whether the environment asks for the probes of a program that may not
// load them itself.
func loadsEarly() bool {
	v := os.Getenv("USDT_LOAD")
	return v != "" && v != "0" && !sys.Privileged()
}

const (
	// lateDelay is the time in milliseconds for which declarations are gathered.
	lateDelay = 3
	// maxDelay bounds it where it grows.
	maxDelay = 60_000
	// manyObjects is the number of objects of a provider from which on late declarations
	// wait longer, so that there are few: a tracer that watches each keeps them from being
	// merged.
	manyObjects = 64
)

// mustPublish reports whether publishLate is to be called for what has been declared, once
// the provider, which is live, is unlocked.
func (p *Provider) mustPublish() bool {
	due := p.due
	p.due = true
	return !due || tracerWaits() && len(p.objects) < manyObjects
}

// publishLate publishes what has been declared since Load. If a tracer waits, that happens
// before it returns, else soon, by an object for all that is declared until then.
func (p *Provider) publishLate() {
	p.mu.Lock()
	objects := len(p.objects)
	p.mu.Unlock()
	if tracerWaits() && objects < manyObjects {
		p.publishAfter(0)
		return
	}
	delay := lateDelay
	for ; objects > manyObjects && delay < maxDelay; objects -= 4 {
		delay *= 2
	}
	go p.publishAfter(delay)
}

// publishAfter publishes what is pending after a delay in milliseconds, unless the provider
// has been closed or loaded meanwhile. Probes that cannot be loaded stay pending. The next Load
// reports why, or that they are loaded and not recorded. Where nothing is pending, objects stay: a tracer may be about to attach.
func (p *Provider) publishAfter(delay int) {
	// Package time has another time in a bubble of testing/synctest, where this goroutine
	// may be, while others declare outside of it.
	unix.Poll(nil, delay)
	p.life.Lock()
	p.mu.Lock()
	p.due = false
	live := p.live && p.err == nil
	if live && len(p.pending) > 0 {
		if err := p.publish(false); err != nil && len(p.pending) == 0 {
			p.unsaid = errorf("load provider %q: %w", p.name, err)
		}
	}
	p.mu.Unlock()
	p.life.Unlock()
	if live { // another goroutine may have published what this one declared, and still wait
		awaitTracer()
	}
}
