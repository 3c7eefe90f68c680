package semaphore

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
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
	served sync.WaitGroup
	closed sync.Once

	mu      sync.Mutex
	late    map[uint32]bool // by PID
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
	k := &Keeper{late: map[uint32]bool{}, several: map[several]bool{}, open: openMemory, silent: map[int][]left{}}
	var err error
	k.ring, err = ebpf.NewMap(&ebpf.MapSpec{Name: "usdt_calls", Type: ebpf.RingBuf, MaxEntries: ringSize})
	if err != nil {
		return nil, fmt.Errorf("create a ring of calls: %w", err)
	}
	if k.reader, err = ringbuf.NewReader(k.ring); err != nil {
		k.ring.Close()
		return nil, err
	}
	k.served.Add(1)
	go k.serve()
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

// serve answers calls until the keeper is closed. Where a process's memory does not answer,
// another one goes on.
func (k *Keeper) serve() {
	hurry()
	for {
		rec, err := k.reader.Read()
		if err != nil {
			k.served.Done()
			return
		}
		var c call
		if err := binary.Read(bytes.NewReader(rec.RawSample), binary.NativeEndian, &c); err != nil {
			continue
		}
		if !k.answer(c, func() { go k.serve() }) {
			return
		}
	}
}

// answer does what a call asks for. It reports whether that took less than slow, after which
// late is called.
func (k *Keeper) answer(c call, late func()) (soon bool) {
	k.mu.Lock()
	if c.File&wentOn != 0 {
		k.late[c.PID] = true
		k.mu.Unlock()
		return true
	}
	f := k.files[c.File]
	k.mu.Unlock()
	return k.keep(f, int(c.PID), c.Bias, late)
}

// hurry has the goroutine come before others, since processes wait for it. Its thread ends with it.
// Among threads of other sessions and control groups a nice value does not count.
func hurry() {
	runtime.LockOSThread()
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1, Flags: unix.SCHED_FLAG_RESET_ON_FORK}
	if unix.SchedSetAttr(0, &attr, 0) != nil {
		_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), -20)
	}
}

// balance makes the semaphores in a process what they must be. Its memory may be in a file on a
// file system that never answers: then it is left alone, and others do not wait for it.
func (k *Keeper) balance(f *File, pid int, copies []uint64) {
	if len(copies) == 0 {
		return
	}
	done := make(chan struct{})
	go func() {
		hurry()
		if k.write(f, pid, copies, func() { close(done) }) {
			close(done)
		}
	}()
	<-done
}

// write is balance, as long as the process's memory takes to answer. It reports whether that was
// less than slow, after which late is called. The caller has the thread of a call, without a
// goroutine between that would have to wait for a processor.
func (k *Keeper) write(f *File, pid int, copies []uint64, late func()) (soon bool) {
	k.mu.Lock()
	waiting, silent := k.silent[pid]
	if silent && len(waiting) < maxLeft {
		k.silent[pid] = append(waiting, left{f, copies})
	}
	k.mu.Unlock()
	if silent {
		return true
	}
	timer := time.AfterFunc(slow, func() {
		k.mu.Lock()
		if _, ok := k.silent[pid]; !ok {
			k.silent[pid] = nil
		}
		k.mu.Unlock()
		late()
	})
	if mem, err := k.open(pid); err == nil {
		_ = f.balance(mem, copies) // a process that cannot be written to will go on, and say so
		mem.Close()
	}
	if timer.Stop() {
		return true
	}
	k.mu.Lock()
	all := k.silent[pid]
	delete(k.silent, pid)
	k.mu.Unlock()
	for _, l := range all {
		k.balance(l.file, pid, l.copies)
	}
	return false
}

// slow is how long the memory of a process may take to answer.
const slow = time.Second

// Late returns how many processes went on before their semaphores were raised.
func (k *Keeper) Late() uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return uint64(len(k.late))
}

// keep raises the semaphores of a file in a process, as write does.
func (k *Keeper) keep(f *File, pid int, bias uint64, late func()) (soon bool) {
	copies := []uint64{bias}
	if f.Library {
		if all := f.copies(pid); len(all) > 1 {
			copies = all
			k.note(f, pid)
		}
	}
	return k.write(f, pid, copies, late)
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
	k.settleStarting()
}

// settleStarting has the kernel find what it is going to lower in processes that have not come
// to their program's first instruction, in the copy that RELRO is going to protect.
func (k *Keeper) settleStarting() {
	k.mu.Lock()
	programs := slices.DeleteFunc(slices.Clone(k.files), func(f *File) bool { return f.Library })
	k.mu.Unlock()
	if len(programs) == 0 {
		return
	}
	pids, _ := procfs.PIDs()
	for _, pid := range pids {
		maps, err := procfs.Maps(pid)
		if err != nil {
			continue
		}
		for _, f := range programs {
			if !f.starting(maps) {
				continue
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				if mem, err := k.open(pid); err == nil {
					defer mem.Close()
					_ = f.raiseLowered(mem, maps)
				}
			}()
			select {
			case <-done:
			case <-time.After(slow):
			}
		}
	}
}

// Close ends the keeper. Calling it again is safe.
func (k *Keeper) Close() {
	k.closed.Do(func() {
		k.reader.Close()
		k.served.Wait()
		k.ring.Close()
	})
}
