package provider

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/elfgen"
	"github.com/go-usdt/usdt/internal/sys"
)

// mapping is an object that this package has mapped.
type mapping struct {
	*sys.Span
	// file is a memfd that stays open as long as the object is mapped, since bcc
	// finds memfds through /proc/PID/fd only (bcc_proc.c: which_so, memfd). It is nil
	// for other files.
	file *os.File
}

// mapObject maps im from a file.
func mapObject(provider string, opts *Options, im *image) (memory, error) {
	file, err := openImage(provider, opts, im)
	if err != nil {
		return nil, err
	}
	span, err := mapImage(im, file)
	if err != nil {
		return nil, join(mapError(opts.Backing, file, err), file.Close())
	}
	if opts.Backing == BackingMemfd {
		return &mapping{span, file}, nil
	}
	if err := file.Close(); err != nil {
		return nil, join(err, span.Release())
	}
	return &mapping{span, nil}, nil
}

func (m *mapping) backing() *os.File { return m.file }

func (m *mapping) release() error {
	err := m.Release()
	if m.file != nil {
		err = join(err, m.file.Close())
	}
	return err
}

// mapImage maps the segments of im, which file contains.
func mapImage(im *image, file *os.File) (*sys.Span, error) {
	last := im.segments[len(im.segments)-1]
	span, err := sys.Reserve(last.Offset + last.Size)
	if err != nil {
		return nil, err
	}
	for _, s := range im.segments {
		// All mappings are private, because the kernel counts no semaphore in a
		// shared one (kernel/events/uprobes.c: valid_ref_ctr_vma).
		if err := span.Map(file, s.Offset, s.Size, protection(s.Flags)); err != nil {
			return nil, join(err, span.Release())
		}
	}
	return span, nil
}

func protection(f elfgen.ProgFlag) int {
	prot := unix.PROT_READ
	if f&elfgen.PF_W != 0 {
		prot |= unix.PROT_WRITE
	}
	if f&elfgen.PF_X != 0 {
		prot |= unix.PROT_EXEC
	}
	return prot
}
