package symbols

import (
	"bytes"
	"fmt"

	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/safeelf"
)

// AppendFile appends the functions that run at an address of the file at path, as the
// file counts addresses.
func (r *Resolver) AppendFile(dst []Frame, path string, addr uint64) ([]Frame, error) {
	m := &mapped{open: func() (opened, error) {
		f, err := procfs.OpenFile(path)
		if err != nil {
			return opened{}, err
		}
		return newOpened(f, path)
	}}
	it := r.objectOf(m)
	defer r.cache.release(it)
	o, ok := it.value.(*object)
	if !ok {
		return nil, m.err
	}
	return append(dst, o.frames(addr)...), nil
}

// Used returns the number of bytes that the resolver says it keeps, and the number of
// files that it keeps open.
func (r *Resolver) Used() (bytes int64, files int) {
	r.cache.mu.Lock()
	defer r.cache.mu.Unlock()
	return r.cache.used, r.cache.open
}

// Data returns a function that names the code at an address of an ELF file, which is
// data, and returns how a stack is unwound there. ok is false if data is no such file.
func (r *Resolver) Data(data []byte) (at func(addr uint64, regs *Registers, stack []byte) ([]Frame, []uint64), ok bool) {
	e, err := safeelf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, false
	}
	m := &mapped{open: func() (opened, error) { return opened{elf: e, path: fmt.Sprintf("%p", e)}, nil }}
	s := &Space{resolver: r, regions: []region{{Module{Path: "data", End: 1<<64 - 1}, m}}}
	return func(addr uint64, regs *Registers, stack []byte) (frames []Frame, pcs []uint64) {
		it := r.objectOf(m)
		defer r.cache.release(it)
		if o, ok := it.value.(*object); ok {
			frames = append(frames, o.frames(addr)...)
		}
		return frames, s.Unwind(nil, regs, stack).PCs
	}, true
}
