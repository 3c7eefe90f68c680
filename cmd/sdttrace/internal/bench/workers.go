package bench

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-usdt/usdt/internal/sys"
)

// batchTime is about how long a thread goes round before it looks whether it is to stop. The
// runtime cannot stop a thread meanwhile.
const batchTime = 100 * time.Microsecond

// workers are threads that go round.
type workers struct {
	ended   atomic.Bool
	done    sync.WaitGroup
	threads []progress
}

// progress is what one thread has done, on a cache line of its own. Its CPU time is measured,
// since other programs may use the machine.
type progress struct {
	mu    sync.Mutex
	times uint64
	cpu   time.Duration
	_     [104]byte
}

func newWorkers(r *running, threads int) *workers {
	w := &workers{threads: make([]progress, threads)}
	for i := range w.threads {
		w.done.Go(func() { w.work(r, &w.threads[i]) })
	}
	return w
}

func (w *workers) work(r *running, p *progress) {
	runtime.LockOSThread() // for good: the thread ends with the goroutine
	batch := 1
	for !w.ended.Load() {
		begin := sys.ThreadTime()
		r.loop(batch)
		took := sys.ThreadTime() - begin
		p.mu.Lock()
		p.times += uint64(batch)
		p.cpu += took
		p.mu.Unlock()
		switch {
		case took < batchTime/2:
			batch *= 2
		case took > 4*batchTime && batch > 1:
			batch /= 2
		}
		if r.idle == nil {
			continue
		}
		batch = min(batch, r.burst)
		for !r.idle() && !w.ended.Load() {
			time.Sleep(batchTime)
		}
	}
}

// take returns how often a second the threads went round since the last call, and forgets that.
func (w *workers) take() (rate float64) {
	for i := range w.threads {
		p := &w.threads[i]
		p.mu.Lock()
		if p.cpu > 0 {
			rate += float64(p.times) / p.cpu.Seconds()
		}
		p.times, p.cpu = 0, 0
		p.mu.Unlock()
	}
	return rate
}

func (w *workers) stop() {
	w.ended.Store(true)
	w.done.Wait()
}
