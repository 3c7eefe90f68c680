package semaphore

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/procfs"
)

// Keeper keeps count in the processes that call it.
type Keeper struct {
	ring   *ebpf.Map
	reader *ringbuf.Reader
	done   sync.WaitGroup
	closed sync.Once
	late   atomic.Uint64

	mu      sync.Mutex
	files   []*File
	several map[several]bool
	open    func(pid int) (memory, error)
	silent  map[int][]left // what is left to do in processes whose memory does not answer
}

// left is a file whose semaphores were not balanced.
type left struct {
	file   *File
	copies []uint64
}

// maxLeft is how many of them are remembered of a process.
const maxLeft = 256

// several is a process that has mapped a file more than once.
type several struct {
	file *File
	pid  int
}

// ringSize is enough for a hundred processes that start at once, on pages of any size.
const ringSize = 64 << 10

// NewKeeper returns a Keeper of no files yet.
func NewKeeper() (*Keeper, error) {
	k := &Keeper{several: map[several]bool{}, open: openMemory, silent: map[int][]left{}}
	var err error
	k.ring, err = ebpf.NewMap(&ebpf.MapSpec{Name: "usdt_calls", Type: ebpf.RingBuf, MaxEntries: ringSize})
	if err != nil {
		return nil, fmt.Errorf("create a ring of calls: %w", err)
	}
	if k.reader, err = ringbuf.NewReader(k.ring); err != nil {
		k.ring.Close()
		return nil, err
	}
	k.done.Go(k.serve)
	return k, nil
}

// Load loads the program to be attached to f's starts, each with its address as cookie.
func (k *Keeper) Load(f *File, typ ebpf.ProgramType, attach ebpf.AttachType) (*ebpf.Program, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	prog, err := f.load(len(k.files), k.ring, typ, attach)
	if err == nil {
		k.files = append(k.files, f)
	}
	return prog, err
}

// serve answers calls until the keeper is closed.
func (k *Keeper) serve() {
	hurry()
	for {
		rec, err := k.reader.Read()
		if err != nil {
			return
		}
		var c call
		if err := binary.Read(bytes.NewReader(rec.RawSample), binary.NativeEndian, &c); err != nil {
			continue
		}
		if c.File&wentOn != 0 {
			k.late.Add(1)
			continue
		}
		k.mu.Lock()
		f := k.files[c.File]
		k.mu.Unlock()
		k.keep(f, int(c.PID), c.Bias)
	}
}

// hurry has the goroutine come before others, since processes wait for it. Its thread ends with it.
func hurry() {
	runtime.LockOSThread()
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), -20)
}

// balance makes the semaphores in a process what they must be. Its memory may be in a file on a
// file system that never answers: then it is left alone, and others do not wait for it.
func (k *Keeper) balance(f *File, pid int, copies []uint64) {
	if len(copies) == 0 {
		return
	}
	k.mu.Lock()
	waiting, silent := k.silent[pid]
	if silent && len(waiting) < maxLeft {
		k.silent[pid] = append(waiting, left{f, copies})
	}
	k.mu.Unlock()
	if silent {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		hurry()
		mem, err := k.open(pid)
		if err != nil {
			return
		}
		defer mem.Close()
		_ = f.balance(mem, copies) // a process that cannot be written to will go on, and say so
	}()
	select {
	case <-done:
	case <-time.After(slow):
		k.mu.Lock()
		if _, ok := k.silent[pid]; !ok {
			k.silent[pid] = nil
		}
		k.mu.Unlock()
		go func() {
			<-done
			k.mu.Lock()
			all := k.silent[pid]
			delete(k.silent, pid)
			k.mu.Unlock()
			for _, l := range all {
				k.balance(l.file, pid, l.copies)
			}
		}()
	}
}

// slow is how long the memory of a process may take to answer.
const slow = time.Second

// Late returns how many processes went on before their semaphores were raised.
func (k *Keeper) Late() uint64 { return k.late.Load() }

// keep raises the semaphores of a file in a process.
func (k *Keeper) keep(f *File, pid int, bias uint64) {
	copies := []uint64{bias}
	if f.Library {
		if all := f.copies(pid); len(all) > 1 {
			copies = all
			k.note(f, pid)
		}
	}
	k.balance(f, pid, copies)
}

func (k *Keeper) note(f *File, pid int) {
	k.mu.Lock()
	k.several[several{f, pid}] = true
	k.mu.Unlock()
}

// Look counts anew in processes that have mapped a library more than once: in one for
// each library, or in all if that is 0.
func (k *Keeper) Look(libraries map[*File]int) {
	var pids []int
	for f, pid := range libraries {
		in := []int{pid}
		if pid == 0 {
			if pids == nil {
				pids, _ = procfs.PIDs()
			}
			in = pids
		}
		for _, pid := range in {
			if copies := f.copies(pid); len(copies) > 1 {
				k.note(f, pid)
				k.balance(f, pid, copies)
			}
		}
	}
}

// Settle counts anew where a library was mapped more than once: before breakpoints are
// removed, so that the kernel can lower what it is going to lower, and afterwards, so
// that nothing is left.
func (k *Keeper) Settle() {
	k.mu.Lock()
	all := slices.Collect(maps.Keys(k.several))
	k.mu.Unlock()
	for _, s := range all { // whose memory may be slow to read
		k.balance(s.file, s.pid, s.file.copies(s.pid))
	}
}

// Close ends the keeper. Calling it again is safe.
func (k *Keeper) Close() {
	k.closed.Do(func() {
		k.reader.Close()
		k.done.Wait()
		k.ring.Close()
	})
}
