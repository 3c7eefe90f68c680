package symbols

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"

	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/safeelf"
)

// mapped is a file of a space.
type mapped struct {
	open    func() (opened, error)
	buildID string // of a module that was recorded
	named   bool   // whether the user named the file

	mu      sync.Mutex
	known   bool // whether the rest is known
	err     error
	key     objectKey
	path    string
	trusted bool
}

// opened is a file that has been opened.
type opened struct {
	file *procfs.File // nil for memory
	elf  *safeelf.File
	path string
}

// newMapped returns the file o of a process.
func newMapped(o *procfs.Object) *mapped {
	return &mapped{open: func() (opened, error) {
		f, path, err := o.Open()
		if err != nil {
			return opened{}, err
		}
		return newOpened(f, path)
	}}
}

func newOpened(f *procfs.File, path string) (opened, error) {
	e, err := safeelf.NewFile(f)
	if err != nil {
		f.Close()
		return opened{}, err
	}
	return opened{f, e, path}, nil
}

// newRecorded returns the file of a module that was recorded.
func newRecorded(r *Resolver, m Module) *mapped {
	return &mapped{buildID: m.BuildID, open: func() (opened, error) {
		f, e, err := r.openKnown(m.Path, m.BuildID)
		if err != nil {
			f, e, err = r.openKnown(r.sure(m.BuildID).path, m.BuildID)
		}
		if err != nil {
			return opened{}, err
		}
		return opened{f, e, f.Name()}, nil
	}}
}

// vdsoPath is how the kernel calls the code that it gives to processes.
const vdsoPath = "[vdso]"

// maxVDSO is the largest number of bytes of that code.
const maxVDSO = 1 << 20

// newVDSO returns the file that the kernel has put into a process's memory.
func newVDSO(pid int, m *procfs.Mapping) *mapped {
	start, size := m.Start, m.Size()
	return &mapped{open: func() (opened, error) {
		b := make([]byte, min(size, maxVDSO))
		if err := procfs.ReadMemory(pid, start, b); err != nil {
			return opened{}, err
		}
		e, err := safeelf.NewFile(bytes.NewReader(b))
		if err != nil {
			return opened{}, err
		}
		sum := sha256.Sum256(b) // the process may have changed it
		return opened{elf: e, path: vdsoPath + hex.EncodeToString(sum[:])}, nil
	}}
}

// failed reports whether the file could not be opened.
func (m *mapped) failed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err != nil
}

// find opens the file if it has not been opened before, to know which it is. The
// caller closes the file that is returned, if any.
func (m *mapped) find(r *Resolver) opened {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known {
		return opened{}
	}
	m.known = true
	f, err := m.open()
	if m.err = err; err != nil && m.kept(r) {
		return opened{}
	}
	if err != nil {
		// Files that cannot be opened are no object, each by itself.
		m.key.buildID = fmt.Sprintf("%p", m)
		return opened{}
	}
	m.path, m.key.buildID = f.path, f.elf.BuildID()
	if f.file == nil {
		m.key.buildID = f.path
		return f
	}
	m.trusted = m.named || procfs.Installed(f.file)
	if !m.trusted || m.key.buildID == "" {
		m.key.id, _ = procfs.IDOf(f.file)
		if info, err := f.file.Stat(); err == nil {
			m.key.version = info.ModTime().UnixNano()
		}
	}
	if id := m.key.buildID; id != "" {
		r.remember(id, known{m.path, m.trusted, false, m.key})
	}
	return f
}

// kept reports whether the resolver may have the file of a recorded module open, which no
// path leads to any more.
func (m *mapped) kept(r *Resolver) bool {
	if m.buildID == "" {
		return false
	}
	k := r.sure(m.buildID)
	if k.path == "" {
		return false
	}
	m.err, m.key, m.path, m.trusted = nil, k.key, k.path, k.trusted
	return true
}

// sure returns the file with a build-id, the zero value if none is known that no stranger can have
// written.
func (r *Resolver) sure(id string) known {
	r.mu.Lock()
	defer r.mu.Unlock()
	if k := r.known[id]; k.trusted || k.named {
		return k
	}
	return known{}
}

// keep opens the file, and keeps it open as long as there is room.
func (m *mapped) keep(r *Resolver) { r.cache.release(r.objectOf(m)) }

// identify returns the file's build-id.
func (m *mapped) identify(r *Resolver) string {
	f := m.find(r)
	if f.file != nil {
		defer f.file.Close()
	}
	if f.elf != nil {
		return f.elf.BuildID()
	}
	if m.failed() {
		return ""
	}
	return m.key.buildID
}

// objectOf returns the object that m is. The caller must release it.
func (r *Resolver) objectOf(m *mapped) *item {
	f := m.find(r)
	it := r.cache.get(cacheKey{m.key, whole}, nil, func(it *item) (any, int64, error) {
		if m.err != nil {
			return nil, 0, m.err
		}
		got := f
		f = opened{}
		var err error
		if got.elf == nil {
			got, err = m.open()
		}
		return r.loaded(it, got.file, got.elf, known{path: m.path, trusted: m.trusted, named: m.named}, err)
	})
	if f.file != nil {
		f.file.Close()
	}
	return it
}
