package reader

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"sync"

	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/notes"
)

// Process is the address space that a process had when [OpenProcess] read it.
type Process struct {
	pid     int
	objects []*procfs.Object
	files   *files
	shared  bool // whether files are shared with other processes

	mu     sync.Mutex
	opened []*File // for Functions
}

// OpenProcess reads what process pid has mapped. A process that is just being started
// has its program mapped, but perhaps none of its libraries. The error wraps
// os.ErrNotExist if there is no such process, and os.ErrPermission if this user may
// not read its memory.
func OpenProcess(pid int) (*Process, error) {
	procfs.AwaitExec(pid)
	p, err := openProcess(pid, newFiles())
	if err == nil {
		p.shared = false
	}
	return p, err
}

func openProcess(pid int, files *files) (*Process, error) {
	maps, err := procfs.Maps(pid)
	if err != nil {
		return nil, err
	}
	if len(maps) == 0 {
		return nil, procfs.Empty(pid)
	}
	return &Process{pid: pid, objects: procfs.Objects(pid, maps), files: files, shared: true}, nil
}

// PID returns the process's id.
func (p *Process) PID() int { return p.pid }

// Close closes the files of the process.
func (p *Process) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var first error
	for _, f := range p.opened {
		first = cmp.Or(first, f.Close())
	}
	p.opened = nil
	if p.shared {
		return first
	}
	return cmp.Or(first, p.files.close())
}

// Probes returns the probe sites that lie in the process's executable memory: those
// of its executable, of its libraries, of memfd objects and of files that have been
// deleted or replaced since. An object that is mapped twice has its probes twice,
// with different addresses. An error stands for an object or for a part of one; the
// others follow. Probes leaves out what the process has unmapped meanwhile. If the
// process has ended, the last error says so.
func (p *Process) Probes() iter.Seq2[Probe, error] {
	return func(yield func(Probe, error) bool) {
		for _, o := range p.objects {
			f, opened, err := p.files.open(o)
			if err == nil && f != nil && opened == "" {
				// The path of another process led to the file: find one of this
				// process.
				opened, err = pathOf(o)
			}
			if err != nil {
				switch gone := o.Gone(); {
				case errors.Is(gone, procfs.ErrUnmapped):
				case gone != nil && p.shared:
					return
				case gone != nil:
					yield(Probe{}, gone)
					return
				case !yield(Probe{}, err):
					return
				}
				continue
			}
			if f == nil {
				continue
			}
			if opened == o.Path {
				opened = ""
			}
			for probe, err := range f.Probes() {
				if err != nil {
					if !yield(probe, err) {
						return
					}
					continue
				}
				probe.Path, probe.OpenPath = o.Path, opened
				for live := range liveProbes(p.pid, o, &probe) {
					probe.Live = &live
					if !yield(probe, nil) {
						return
					}
				}
			}
		}
	}
}

// Functions returns the functions in the process's executable memory that belong to
// objects for whose paths object returns true. Errors are as for Probes.
func (p *Process) Functions(object func(path string) bool) iter.Seq2[Function, error] {
	return p.functions(object, func(f *File, _ string) iter.Seq2[Function, error] { return f.Functions() })
}

// functions returns the functions that of returns for wanted objects, where the
// process has them.
func (p *Process) functions(wanted func(path string) bool, of func(f *File, path string) iter.Seq2[Function, error]) iter.Seq2[Function, error] {
	return func(yield func(Function, error) bool) {
		for _, o := range p.objects {
			if !wanted(o.Path) {
				continue
			}
			f, opened, err := p.open(o)
			if err != nil && !isOther(err) && !yield(Function{}, err) {
				return
			}
			if err != nil {
				continue
			}
			if opened == o.Path {
				opened = ""
			}
			for fn, err := range of(f, o.Path) {
				if err != nil {
					if !yield(fn, err) {
						return
					}
					continue
				}
				fn.Path, fn.OpenPath = o.Path, opened
				for live := range liveProbes(p.pid, o, &Probe{Offset: fn.Offset, SiteErr: fn.SiteErr}) {
					fn.Live = &live
					if !yield(fn, nil) {
						return
					}
				}
			}
		}
	}
}

// open opens the object, which stays open until p is closed, and returns its path.
func (p *Process) open(o *procfs.Object) (*File, string, error) {
	osFile, path, err := o.Open()
	if err != nil {
		return nil, "", err
	}
	f, err := newOSFile(osFile, o.Path)
	if err != nil {
		osFile.Close()
		return nil, "", err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.opened = append(p.opened, f)
	return f, path, nil
}

func pathOf(o *procfs.Object) (string, error) {
	f, path, err := o.Open()
	if err != nil {
		return "", err
	}
	return path, f.Close()
}

// liveProbes yields where the object's mappings have the probe.
func liveProbes(pid int, o *procfs.Object, p *Probe) iter.Seq[Live] {
	return func(yield func(Live) bool) {
		if p.SiteErr != nil {
			return
		}
		for i := range o.Maps {
			m := &o.Maps[i]
			if !m.Exec || p.Offset < m.Offset || p.Offset-m.Offset >= m.Size() {
				continue
			}
			l := Live{PID: pid, Address: m.Start + (p.Offset - m.Offset)}
			if p.Semaphore != 0 {
				l.SemaphoreAddress = semaphoreAddress(o, p, l.Address)
			}
			if !yield(l) {
				return
			}
		}
	}
}

// semaphoreAddress returns the address of the semaphore of the probe at site. It lies
// at the distance that the file gives it or, if the loader has put it elsewhere, in
// the writable mapping that comes next to that. 0 means that there is none.
func semaphoreAddress(o *procfs.Object, p *Probe, site uint64) uint64 {
	want := site + (p.Semaphore - p.Location)
	var best, distance uint64
	for i := range o.Maps {
		m := &o.Maps[i]
		if p.SemaphoreOffset < m.Offset || p.SemaphoreOffset-m.Offset >= m.Size() {
			continue
		}
		addr := m.Start + (p.SemaphoreOffset - m.Offset)
		if addr == want {
			return addr
		}
		d := max(addr, want) - min(addr, want)
		if m.Write && !m.Shared && (best == 0 || d < distance) {
			best, distance = addr, d
		}
	}
	return best
}

// SemaphoreValue reads the semaphore of a live probe: the kernel's count of
// attached uprobes, 0 while nobody watches.
func (p *Probe) SemaphoreValue() (uint16, error) {
	if p.Live == nil || p.Live.SemaphoreAddress == 0 {
		return 0, fmt.Errorf("probe %s:%s has no semaphore in a process", p.Provider, p.Name)
	}
	var buf [2]byte
	if err := procfs.ReadMemory(p.Live.PID, p.Live.SemaphoreAddress, buf[:]); err != nil {
		return 0, err
	}
	return p.ByteOrder.Uint16(buf[:]), nil
}

// LocalWatchers returns how many tracers watch a live probe through shared memory, which
// the kernel's count does not have. Only probes that package provider declares can have some.
// They are counted in the upper half of a semaphore of 32 bits, except its highest bit.
func (p *Probe) LocalWatchers() (uint16, error) {
	word, err := p.wideSemaphore()
	return uint16(word>>16) & 0x7fff, err
}

// Recorded reports whether the flight recorder of a live probe's process keeps its events.
// Probes that package provider declares have this in the highest bit of a semaphore of 32
// bits; others have no recorder.
func (p *Probe) Recorded() (bool, error) {
	word, err := p.wideSemaphore()
	return word>>31 != 0, err
}

// wideSemaphore returns the 32 bits of a live probe's semaphore; 0 for one of 16 bits.
func (p *Probe) wideSemaphore() (uint32, error) {
	if p.Live == nil || p.Live.SemaphoreAddress == 0 || p.Type == nil || p.Type.Record.Flags&notes.GoroutineRegister == 0 {
		return 0, nil
	}
	var buf [4]byte
	if err := procfs.ReadMemory(p.Live.PID, p.Live.SemaphoreAddress, buf[:]); err != nil {
		return 0, err
	}
	return p.ByteOrder.Uint32(buf[:]), nil
}

// files are the files behind the objects of processes, each read once.
type files struct {
	mu   sync.Mutex
	byID map[procfs.ID]*openFile // by the id from stat
}

type openFile struct {
	isGo     bool   // whether Go's linker wrote it, until registry has looked
	registry uint64 // see Process.Declared
	file     *File  // nil if the file has no probes
	err      error  // the error of reading it
	// sole reports that no other file has the id by which maps name this one. On
	// btrfs, maps give the device of the whole file system, whose subvolumes each
	// number their own files.
	sole bool
}

func newFiles() *files { return &files{byID: map[procfs.ID]*openFile{}} }

// open returns the file of o, nil if it has no probes, and the path by which it was
// opened just now, "" if that was not necessary. It does not remember that o cannot
// be opened, since other processes may have another way to the file.
func (fs *files) open(o *procfs.Object) (*File, string, error) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	e, opened, err := fs.entry(o)
	if err != nil {
		return nil, "", err
	}
	return e.file, opened, e.err
}

// entry is open; fs is locked.
func (fs *files) entry(o *procfs.Object) (*openFile, string, error) {
	if e := fs.byID[o.ID]; e != nil && e.sole {
		return e, "", nil
	}
	f, opened, err := o.Open()
	if err != nil {
		return nil, "", err
	}
	id, err := procfs.IDOf(f)
	if err != nil {
		f.Close()
		return nil, "", err
	}
	e := fs.byID[id]
	if e == nil {
		e = &openFile{sole: id == o.ID}
		fs.byID[id] = e
		e.read(f, o.Path)
	}
	if e.file == nil || e.file.closer != f {
		f.Close()
	}
	return e, opened, nil
}

// read makes f the file if f has probes.
func (e *openFile) read(f *procfs.File, path string) {
	file, err := newOSFile(f, path)
	e.isGo = err == nil && file.IsGo()
	switch {
	case err == nil && file.hasProbes():
		e.file = file
	case err != nil && !isOther(err):
		e.err = err
	}
}

func (fs *files) close() error {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	var first error
	for _, e := range fs.byID {
		if e.file != nil {
			if err := e.file.Close(); err != nil && first == nil {
				first = err
			}
		}
	}
	return first
}

// isOther reports whether err says that a mapped file is no ELF object. Code that a
// process generates is mapped from files of every kind.
func isOther(err error) bool { return errors.Is(err, ErrNotELF) }

// Processes returns every process of the machine, by id. The next iteration closes it.
// Processes reads a file that several processes have mapped once. It skips kernel
// threads and processes that end meanwhile. An error stands for a process that could
// not be read, most often because it belongs to another user (os.ErrPermission).
func Processes() iter.Seq2[*Process, error] {
	return func(yield func(*Process, error) bool) {
		pids, err := procfs.PIDs()
		if err != nil {
			yield(nil, err)
			return
		}
		files := newFiles()
		defer files.close()
		for _, pid := range pids {
			p, err := openProcess(pid, files)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			more := yield(p, err)
			if p != nil {
				p.Close()
			}
			if !more {
				return
			}
		}
	}
}
