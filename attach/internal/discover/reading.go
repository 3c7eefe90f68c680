package discover

import (
	"sync"
	"syscall"
	"time"

	"github.com/go-usdt/usdt/attach/internal/overlay"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/reader"
)

// reading is what is read of a process, once for all searches that share it, and as far as one asks. They may do
// so at a time.
type reading struct {
	pid   int
	begun time.Time // nothing was read before

	maps    sync.Once
	err     error
	objects []*mappedObject
	none    bool   // it has no memory
	copied  string // see procfs.CopiedIn
}

// mappedObject is a file that the process has mapped.
type mappedObject struct {
	procfs.Object
	once sync.Once
	file fileReading
}

// fileReading is what a file has, and where it is.
type fileReading struct {
	err    error // why it cannot be opened
	path   string
	opened string // the path by which it was opened

	stat  *syscall.Stat_t // nil if that is not known
	holds bool            // it is on an overlay
	lower *overlay.Inode  // which is below; nil if that is not known

	elf    error // why it cannot be read
	probes []reader.Probe
	errs   []error // of some
}

// read reads what the process has mapped.
func (r *reading) read() {
	r.maps.Do(func() {
		var maps []procfs.Mapping
		if maps, r.err = procfs.Maps(r.pid); r.err != nil {
			return
		}
		r.none, r.copied = len(maps) == 0, procfs.CopiedIn(r.pid, maps)
		for _, o := range procfs.Objects(r.pid, maps) {
			r.objects = append(r.objects, &mappedObject{Object: *o})
		}
	})
}

// read reads the file. inodes are the caller's.
func (o *mappedObject) read(inodes *overlay.Inodes) *fileReading {
	o.once.Do(func() {
		as, r := o.Object, &o.file // Open changes the path, which others read
		var file *procfs.File
		if file, r.opened, r.err = as.Open(); r.err != nil {
			return
		}
		defer file.Close()
		r.path = as.Path
		number := o.ID.Inode
		if info, err := file.Stat(); err == nil {
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				r.stat, number = st, st.Ino
			}
		}
		r.holds, r.lower = lower(file, number, inodes)
		f, err := reader.NewFile(file)
		if r.elf = err; err != nil {
			return
		}
		for p, err := range f.Probes() {
			if err != nil {
				r.errs = append(r.errs, err)
			} else {
				r.probes = append(r.probes, p)
			}
		}
	})
	return &o.file
}

// again opens the file again, for what only few searches need.
func (o *mappedObject) again(use func(f *reader.File)) {
	as := o.Object
	file, _, err := as.Open()
	if err != nil {
		return // the process has ended since
	}
	defer file.Close()
	if f, err := reader.NewFile(file); err == nil {
		use(f)
	}
}

// readings are the last ones, so that searches which follow the same reports read a process once.
type readings struct {
	mu  sync.Mutex
	of  map[int]*reading
	end *time.Timer
}

var latest readings

const (
	// maxReadings is how many are kept, and lasting for how long: searches that have the same reports use
	// them within milliseconds.
	maxReadings = 64
	lasting     = time.Second
)

// since returns a reading of a process that was begun at a time or later.
func (r *readings) since(pid int, at time.Time) *reading {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.of[pid]
	if one != nil && !one.begun.Before(at) {
		return one
	}
	one = &reading{pid: pid, begun: time.Now()}
	if len(r.of) >= maxReadings || r.of == nil {
		r.of = map[int]*reading{}
	}
	r.of[pid] = one
	if r.end == nil {
		r.end = time.AfterFunc(lasting, r.expire)
	}
	return one
}

// expire forgets old readings.
func (r *readings) expire() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end = nil
	for pid, one := range r.of {
		if time.Since(one.begun) >= lasting {
			delete(r.of, pid)
		}
	}
	if len(r.of) > 0 {
		r.end = time.AfterFunc(lasting, r.expire)
	}
}
