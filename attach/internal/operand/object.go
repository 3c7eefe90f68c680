package operand

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

// Object is the file behind sites: what attaching needs to know about it beyond
// its probes. It stays open until the kernel has attached, so that the file that
// was read is attached to, even if files are renamed meanwhile.
type Object struct {
	File    *procfs.File
	Info    os.FileInfo
	ELF     *safeelf.File
	Symbols resolver
	Probes  *reader.File

	Window      []byte // part of the file, from WindowStart on
	WindowStart uint64
}

// resolver knows the symbols of an object, see [reader.File].
type resolver interface {
	Resolve(*notes.Arg) (uint64, error)
	Slot(symbol string) (uint64, bool)
	OwnSlot(addr uint64) (uint64, bool)
}

// WindowSize is how many bytes of the file are read at a time: sites lie close
// together.
const WindowSize = 64 << 10

// OpenObject opens the file at path.
func OpenObject(path string) (*Object, error) {
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

func newObject(f *procfs.File) (*Object, error) {
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
	return &Object{File: f, Info: st, ELF: e, Symbols: symbols, Probes: symbols}, nil
}

// Path returns a path that leads to the open file and to no other, if /proc is
// that of this process's PID namespace.
func (o *Object) Path() string {
	path := fmt.Sprintf("/proc/self/fd/%d", o.File.Fd())
	if info, err := procfs.Stat(path); err != nil || !os.SameFile(info, o.Info) {
		return o.File.Name()
	}
	return path
}

func (o *Object) Close() error { return o.File.Close() }

// Relocatable reports whether the object's addresses are known only at run time.
func (o *Object) Relocatable() bool { return o.ELF.Type != elf.ET_EXEC }

// BytesAt returns up to n bytes of the file at off, fewer at its end. They are
// valid until the next call.
func (o *Object) BytesAt(off uint64, n int) []byte {
	in := off - o.WindowStart
	if off < o.WindowStart || in > uint64(len(o.Window)) || uint64(len(o.Window))-in < uint64(n) {
		if o.Window == nil {
			o.Window = make([]byte, WindowSize)
		}
		got, _ := o.File.ReadAt(o.Window[:WindowSize], int64(off))
		o.Window, o.WindowStart, in = o.Window[:got], off, 0
	}
	return o.Window[in:min(in+uint64(n), uint64(len(o.Window)))]
}
