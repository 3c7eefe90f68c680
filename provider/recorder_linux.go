//go:build !usdt_nolocal

package provider

import (
	"errors"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/owned"
	"github.com/go-usdt/usdt/internal/rendezvous"
	"github.com/go-usdt/usdt/internal/ring"
	"github.com/go-usdt/usdt/internal/stub"
	"github.com/go-usdt/usdt/internal/sys"
	"github.com/go-usdt/usdt/notes"
)

// recording is the recorder of this process.
var recording struct {
	sys.Mutex
	users   int // providers
	ring    *ring.Writer
	file    *os.File
	number  uint32 // of the last site
	written int    // bytes of objects
}

const (
	defaultRecorder = 4 << 20
	keptFiles       = 8
	fileSuffix      = ".usdt"
	// recorderBit is what the recorder sets in semaphores, beside what the kernel and
	// local tracers count there. An object of which no other bit is set may be
	// replaced.
	recorderBit = 1 << 31
)

// record makes the recorder record the object's probes that it does not record yet. The
// provider is locked.
func (o *object) record(opts *Options) error {
	recording.Lock()
	defer recording.Unlock()
	p := o.provider
	if !p.recorded {
		if opts.FlightRecorder == nil {
			return nil
		}
		if recording.ring == nil {
			if err := beginRecording(opts.FlightRecorder); err != nil {
				return errorf("flight recorder: %w", err)
			}
		}
		p.recorded = true
		recording.users++
	}
	var fresh []*probe
	var counters []*uint32
	for _, l := range o.probes {
		w := l.watchers()
		for w != nil && w.ring != recording.ring {
			w = w.next
		}
		switch {
		case w != nil: // it moves here
			atomic.OrUint32(l.counter, recorderBit)
		case opts.FlightRecorder != nil && opts.FlightRecorder.records(p.name+":"+l.name):
			fresh, counters = append(fresh, l.probe), append(counters, l.counter)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	code, _ := stub.CodeFor(notes.SiteNop)
	im, err := newImage(p.name, code, fresh)
	if err != nil {
		return err
	}
	numbers, locations := make([]uint32, len(fresh)), make([]uint64, len(fresh))
	for i := range fresh {
		numbers[i], locations[i] = recording.number+1+uint32(i), im.site(i)
	}
	entry := ring.AppendObject(nil, im.bytes, recordedString, numbers, locations)
	if recording.written += len(entry); recording.written > ring.MaxObjects {
		return errors.New("flight recorder: the file describes too many probes already")
	}
	if err := appendAll(recording.file, entry); err != nil {
		return errorf("flight recorder: %w", err)
	}
	recording.number += uint32(len(fresh))
	for i, pr := range fresh {
		w := &watcher{next: pr.watchers(), ring: recording.ring, number: numbers[i], limit: recordedString, slots: recordedSlots[1:]}
		if pr.sig.ipv4 != 0 {
			w.slots = recordedSlots[:]
		}
		if len(pr.sig.args) == 0 {
			w.layout = pr.sig.layout(len(w.slots))
		}
		w.prepare(pr.sig)
		atomic.StorePointer(&pr.local, unsafe.Pointer(w))
		atomic.OrUint32(counters[i], recorderBit)
	}
	return nil
}

// appendAll appends b to a file, or nothing.
func appendAll(f *os.File, b []byte) error {
	var st unix.Stat_t
	err := owned.Stat(f, &st)
	if err == nil {
		if _, err = f.Write(b); err != nil {
			unix.Ftruncate(int(f.Fd()), st.Size)
		}
	}
	return err
}

var recordedSlots = [...]rendezvous.Slot{rendezvous.IPv4, rendezvous.Goroutine}

// stopRecording ends the recording when no provider is left that takes part.
func (p *Provider) stopRecording() {
	recording.Lock()
	defer recording.Unlock()
	if !p.recorded {
		return
	}
	p.recorded = false
	if recording.users--; recording.users == 0 {
		recording.ring.Close()
		recording.file.Close()
		recording.ring, recording.file, recording.number, recording.written = nil, nil, 0, 0
	}
}

// beginRecording makes the file.
func beginRecording(r *FlightRecorder) error {
	dir, err := owned.Open(r.Dir, 0o700)
	if err != nil {
		return err
	}
	defer dir.Close()
	comm := sys.ReadLine("/proc/self/comm")
	prefix := []byte(comm + "-")
	for i, c := range prefix {
		if c == '/' {
			prefix[i] = '_'
		}
	}
	removeOld(dir, string(prefix))
	var name string
	var f *os.File
	for ms := time.Now().UnixMilli(); f == nil; ms++ {
		name = string(prefix) + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(ms, 10) + fileSuffix
		f, err = owned.OpenAt(dir, name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_APPEND, 0o600)
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return err
		}
	}
	size := r.Size
	if size <= 0 {
		size = defaultRecorder
	}
	w, err := ring.NewRecorder(int(f.Fd()), ring.GeometryFor(size, runtime.GOMAXPROCS(0)), ring.ClockHere(), comm)
	if err != nil {
		unix.Unlinkat(int(dir.Fd()), name, 0)
		f.Close()
		return err
	}
	recording.ring, recording.file = w, f
	return nil
}

// removeOld removes files of processes that have ended, all but the last ones.
func removeOld(dir *os.File, prefix string) {
	var old []string
	for _, name := range owned.Names(dir) {
		if _, ok := begun(name, prefix); !ok {
			continue
		}
		if f, err := owned.OpenAt(dir, name, unix.O_RDONLY|unix.O_NONBLOCK, 0); err == nil {
			// Another PID namespace may share the directory, so PIDs say nothing.
			if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
				old = append(old, name)
			}
			f.Close()
		}
	}
	for len(old) >= keptFiles {
		first, earliest := 0, math.MaxInt
		for i, name := range old {
			if ms, _ := begun(name, prefix); ms < earliest {
				first, earliest = i, ms
			}
		}
		unix.Unlinkat(int(dir.Fd()), old[first], 0)
		old[first] = old[len(old)-1]
		old = old[:len(old)-1]
	}
}

// begun returns when the process began to record whose file is called name, in
// milliseconds since 1970. ok is false for other files than PREFIXPID-MS.usdt.
func begun(name, prefix string) (ms int, ok bool) {
	rest, ours := strings.CutPrefix(name, prefix)
	rest, whole := strings.CutSuffix(rest, fileSuffix)
	dash := strings.IndexByte(rest, '-')
	at := rest[dash+1:]
	ms, _ = sys.Number(at)
	return ms, ours && whole && dash >= 0 && strings.IndexByte(at, '-') < 0
}
