package provider

import (
	"debug/elf"
	"errors"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/stub"
	"github.com/go-usdt/usdt/internal/sys"
)

// object is a loaded ELF object.
type object struct {
	// file stays open as long as the object is mapped: bcc finds a memfd
	// through /proc/PID/fd only (bcc_proc.c: _procutils_memfd_path).
	file   *os.File
	span   *sys.Span
	probes []declared
}

// load generates the object for probes, maps it and lets them fire.
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
	file, err := sys.Memfd("usdt:"+provider, im.bytes)
	if err != nil {
		return nil, err
	}
	span, err := mapImage(im, file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	for i, p := range probes {
		counter := span.Counter(im.semaphore(i))
		p.site.Store(span.Address(im.site(i)))
		p.sem.Attach(counter)
		if p.group != nil {
			p.group.attach(counter)
		}
	}
	return &object{file: file, span: span, probes: probes}, nil
}

// mapImage maps the segments of im, which file contains.
func mapImage(im *image, file *os.File) (*sys.Span, error) {
	last := im.segments[len(im.segments)-1]
	span, err := sys.Reserve(last.Offset + last.Size)
	if err != nil {
		return nil, err
	}
	for _, s := range im.segments {
		// Private, all of them: the kernel counts no semaphore in a shared
		// mapping (kernel/events/uprobes.c: valid_ref_ctr_vma).
		if err := span.Map(file, s.Offset, s.Size, protection(s.Flags)); err != nil {
			return nil, errors.Join(err, span.Release())
		}
	}
	return span, nil
}

func protection(f elf.ProgFlag) int {
	prot := unix.PROT_READ
	if f&elf.PF_W != 0 {
		prot |= unix.PROT_WRITE
	}
	if f&elf.PF_X != 0 {
		prot |= unix.PROT_EXEC
	}
	return prot
}

// close withdraws the object's probes and unmaps it. When a probe's site is
// gone no goroutine enters its stub any more; those that are in it are waited
// for. A goroutine that still looks at a semaphore reads zero from the span.
func (o *object) close() error {
	for _, p := range o.probes {
		p.sem.Attach(unwatched)
		p.site.Store(0)
		if p.group != nil {
			p.group.detach()
		}
	}
	for _, p := range o.probes {
		for p.users.Load() != 0 {
			runtime.Gosched()
		}
	}
	return errors.Join(o.span.Release(), o.file.Close())
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
