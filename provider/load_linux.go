package provider

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/stub"
	"github.com/go-usdt/usdt/internal/sys"
)

// object is a loaded ELF object.
type object struct {
	probes []declared
	memory memory
	shown  *shownEvents // nil without Options.EventsDir
}

// loaded keeps every loaded object reachable until it is closed. A program may
// forget its provider and fire its probes all the same; a collected object's
// file would be closed, and tracers would find it no more.
var loaded sync.Map // *object to nothing

// memory is where an object is.
type memory interface {
	// Address returns the run-time address of one in the object, Counter the
	// semaphore there.
	Address(uint64) uintptr
	Counter(uint64) *uint32
	// release lets go of the object. Nobody executes in it any more, but some
	// may still read its semaphores.
	release() error
}

// load generates the object for probes, gets it into memory and lets them fire.
// It returns an object and an error if they fire but Options.EventsDir cannot
// show them.
func load(provider string, opts *Options, probes []declared) (*object, error) {
	if !stub.Supported {
		return nil, ErrNotSupported
	}
	code, err := opts.Site.code()
	if err != nil {
		return nil, err
	}
	im, err := newImage(provider, code, probes)
	if err != nil {
		return nil, err
	}
	o := &object{probes: probes}
	switch opts.Loader {
	case LoaderMap:
		o.memory, err = mapObject(provider, opts, im)
	case LoaderDlopen:
		o.memory, err = dlopenObject(provider, opts, im)
	default:
		err = fmt.Errorf("unknown loader %d", opts.Loader)
	}
	if err != nil {
		return nil, err
	}
	for i, p := range probes {
		atomic.StoreUintptr(&p.site, o.memory.Address(im.site(i)))
	}
	for i, p := range probes {
		counter := o.memory.Counter(im.semaphore(i))
		p.sem.Attach(counter)
		if p.group != nil {
			p.group.attach(counter)
		}
	}
	loaded.Store(o, nil)
	if opts.EventsDir != "" {
		o.shown, err = showEvents(opts.EventsDir, provider, probes)
	}
	return o, err
}

// close withdraws the object's probes. When a probe's site is gone no
// goroutine enters its stub any more; those that are in it are waited for. A
// goroutine that still looks at a semaphore may do so: memory stays readable.
func (o *object) close() error {
	loaded.Delete(o)
	var errs []error
	if o.shown != nil {
		errs = append(errs, o.shown.hide())
	}
	for _, p := range o.probes {
		p.sem.Attach(unwatched)
		atomic.StoreUintptr(&p.site, 0)
		if p.group != nil {
			p.group.detach()
		}
	}
	stub.Quiesce()
	return errors.Join(append(errs, o.memory.release())...)
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

// fastestSite returns the site that the running kernel traces fastest.
func fastestSite() Site {
	switch sys.UprobeOptimization() {
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
