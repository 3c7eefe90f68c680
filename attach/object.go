package attach

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"

	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/safeelf"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// object is the file behind sites: what attaching needs to know of it beyond
// its probes. It stays open until the kernel has been told to attach, so that
// what was looked at is what is attached to, whoever renames files meanwhile.
type object struct {
	file    *os.File
	info    os.FileInfo
	elf     *safeelf.File
	symbols resolver

	window      []byte // part of the file, from windowStart on
	windowStart uint64
}

// resolver knows the symbols of an object, see [reader.File].
type resolver interface {
	Resolve(*notes.Arg) (uint64, error)
	Slot(symbol string) (uint64, bool)
	OwnSlot(addr uint64) (uint64, bool)
}

// windowSize bytes of the file are read at a time: sites lie close together.
const windowSize = 64 << 10

// openObject opens the file at path.
func openObject(path string) (*object, error) {
	f, err := procfs.OpenFile(path)
	if err != nil {
		return nil, err
	}
	o, err := newObject(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return o, nil
}

func newObject(f *os.File) (*object, error) {
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		return nil, err
	}
	e, err := safeelf.NewFile(f)
	if err != nil {
		return nil, err
	}
	symbols, err := reader.NewFile(f)
	if err != nil {
		return nil, err
	}
	return &object{file: f, info: st, elf: e, symbols: symbols}, nil
}

// path returns a path that leads to the open file and to no other, if /proc is
// that of this process's PID namespace.
func (o *object) path() string {
	path := fmt.Sprintf("/proc/self/fd/%d", o.file.Fd())
	if info, err := os.Stat(path); err != nil || !os.SameFile(info, o.info) {
		return o.file.Name()
	}
	return path
}

func (o *object) Close() error { return o.file.Close() }

// relocatable says that the object's addresses are known only at run time.
func (o *object) relocatable() bool { return o.elf.Type != elf.ET_EXEC }

// bytesAt returns up to n bytes of the file at off: fewer at its end. They are
// good until the next call.
func (o *object) bytesAt(off uint64, n int) []byte {
	in := off - o.windowStart
	if off < o.windowStart || in > uint64(len(o.window)) || uint64(len(o.window))-in < uint64(n) {
		if o.window == nil {
			o.window = make([]byte, windowSize)
		}
		got, _ := o.file.ReadAt(o.window[:windowSize], int64(off))
		o.window, o.windowStart, in = o.window[:got], off, 0
	}
	return o.window[in:min(in+uint64(n), uint64(len(o.window)))]
}
