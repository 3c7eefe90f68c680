package maplog

import (
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// reports reads what the kernel reports, once for all news of this process: each ring costs whoever maps
// a file something, and each reader this process.
type reports struct {
	life  sync.Mutex // held while readers join and leave
	wake  int        // a descriptor that ends the goroutine
	ended sync.WaitGroup

	mu      sync.Mutex // of what follows; taken after life
	rings   []*ring
	readers []*News
}

// shared are the reports of this process.
var shared reports

// join has a reader read what is reported from now on.
func (r *reports) join(n *News) error {
	r.life.Lock()
	defer r.life.Unlock()
	if r.rings == nil {
		rings, wake, err := openRings(0)
		if err != nil {
			return err
		}
		r.rings, r.wake = rings, wake
		r.ended.Go(func() { poll(rings, wake, r.read) })
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.readLocked() // which is about what was before
	r.readers = append(r.readers, n)
	return nil
}

// leave ends what join began.
func (r *reports) leave(n *News) {
	r.life.Lock()
	defer r.life.Unlock()
	r.mu.Lock()
	r.readers = slices.DeleteFunc(r.readers, func(one *News) bool { return one == n })
	left := len(r.readers)
	r.mu.Unlock()
	if left > 0 {
		return
	}
	unix.Write(r.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	r.ended.Wait()
	closeRings(r.rings, r.wake)
	r.rings = nil
}

// read takes what the kernel has reported.
func (r *reports) read() (more, used bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return false, r.readLocked()
}

func (r *reports) readLocked() (used bool) {
	from := time.Now()
	clock := monotonic()
	to := time.Now()
	for _, ring := range r.rings {
		ring.read(func(rec []byte, _ uint64) {
			var h happening
			parsed, ok := false, false
			for _, n := range r.readers {
				if !about(rec, n.only) {
					continue
				}
				if !parsed {
					h, ok = parse(rec, false)
					parsed = true
				}
				if ok {
					ago := time.Duration(clock - h.at)
					n.take(&h, from.Add(-ago), to.Add(-ago))
				}
			}
		})
	}
	for _, n := range r.readers {
		used = n.say() || used
	}
	return used
}
