package semaphore

import (
	"debug/elf"
	"io"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// Where the program of these tests has its site and its semaphore.
const (
	siteAt      = 16
	semaphoreAt = 32
	copySize    = 64

	nop        = 0x90
	breakpoint = 0xcc
)

// program is the memory of a process, with copies of a library.
type program struct {
	mu     sync.Mutex
	bytes  [2 * copySize]byte
	before func(at int64) // reads
}

func (p *program) ReadAt(b []byte, at int64) (int, error) {
	if p.before != nil {
		p.before(at)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return copy(b, p.bytes[at:]), nil
}

func (p *program) WriteAt(b []byte, at int64) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return copy(p.bytes[at:], b), nil
}

func (p *program) Close() error { return nil }

func (p *program) put(at int, b byte) { p.WriteAt([]byte{b}, int64(at)) }

func (p *program) semaphore(bias int) byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bytes[bias+semaphoreAt]
}

func newFile() *File {
	return &File{machine: elf.EM_X86_64, Library: true, id: procfs.ID{Inode: math.MaxUint64}, counters: []counter{{address: semaphoreAt, places: []place{{siteAt, nop}}}}}
}

// newKeeper returns a keeper for which these are the processes, from 1 on.
func newKeeper(t *testing.T, processes ...*program) *Keeper {
	t.Helper()
	needs.Root(t)
	k, err := NewKeeper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	k.open = func(pid int) (memory, error) {
		if pid > len(processes) {
			return nil, io.EOF
		}
		return processes[pid-1], nil
	}
	return k
}

// TestKeeperSilent keeps count in processes, one of which has memory that does not answer: others
// do not wait for it, and neither does the end.
func TestKeeperSilent(t *testing.T) {
	asked, answer := make(chan bool, 1), make(chan bool)
	silent, other := &program{}, &program{}
	silent.before = func(int64) { asked <- true; <-answer }
	other.put(siteAt, breakpoint)
	k := newKeeper(t, silent, other)
	began := time.Now()
	ended := make(chan bool)
	go func() {
		k.balance(newFile(), 1, []uint64{0})
		close(ended)
	}()
	<-asked
	f := newFile()
	k.note(f, 2)
	k.balance(f, 2, []uint64{0})
	if n := other.semaphore(0); n != 1 {
		t.Errorf("the semaphore of a process is %d, want 1, while the memory of another does not answer", n)
	}
	k.Settle()
	k.Close()
	<-ended
	if took := time.Since(began); took < slow || took > time.Minute {
		t.Errorf("the process without an answer is left after %v", took)
	}
	k.balance(newFile(), 1, []uint64{0}) // does not ask again
	select {
	case <-asked:
		t.Error("a process that does not answer is asked again")
	default:
	}
	close(answer)
}

// TestKeeperCalled has a call come from a process whose memory does not answer: the next call is
// answered by another, and each process that went on is counted once.
func TestKeeperCalled(t *testing.T) {
	answer := make(chan bool)
	silent, other := &program{}, &program{}
	silent.before = func(int64) { <-answer }
	other.put(siteAt, breakpoint)
	k := newKeeper(t, silent, other)
	k.files = []*File{newFile()}
	late, ended := make(chan bool), make(chan bool)
	go func() { ended <- k.answer(call{PID: 1}, func() { close(late) }) }()
	<-late
	if !k.answer(call{PID: 2}, nil) || other.semaphore(0) != 1 {
		t.Errorf("the semaphore of a process is %d, want 1, while another's memory does not answer", other.semaphore(0))
	}
	close(answer)
	if <-ended {
		t.Error("who waited for the memory goes on as well")
	}
	for range 2 {
		k.answer(call{PID: 1, File: wentOn}, nil)
	}
	if n := k.Late(); n != 1 {
		t.Errorf("%d processes went on, want one", n)
	}
}

// TestKeeperOther keeps count beside a copy of another file, whose inode has the same number on
// another file system.
func TestKeeperOther(t *testing.T) {
	const another = 7
	p := &program{}
	p.put(siteAt, breakpoint)
	p.put(copySize, another)
	p.put(copySize+siteAt, nop)
	p.put(copySize+semaphoreAt, another)
	f := newFile()
	f.buildID = buildID{id: []byte{0}}
	if err := f.balance(p, []uint64{copySize, 0}); err != nil || p.semaphore(0) != 1 || p.semaphore(copySize) != another {
		t.Errorf("the semaphore is %d, want 1, and memory of another file %d, want %d: %v", p.semaphore(0), p.semaphore(copySize), another, err)
	}
}

// TestKeeperChange has a breakpoint come between the look at a site and the writing of its
// semaphore.
func TestKeeperChange(t *testing.T) {
	p := &program{}
	p.put(siteAt, nop)
	p.before = func(at int64) {
		if at == semaphoreAt {
			p.put(siteAt, breakpoint)
		}
	}
	if err := newFile().balance(p, []uint64{0}); err != nil || p.semaphore(0) != 1 {
		t.Errorf("the semaphore is %d, want 1: %v", p.semaphore(0), err)
	}
}

// TestKeeperScribbled keeps count while the program changes its sites and semaphores, and many
// ask. In the end all is right.
func TestKeeperScribbled(t *testing.T) {
	p := &program{}
	k := newKeeper(t, p)
	f := newFile()
	both := func() { k.balance(f, 1, []uint64{copySize, 0}) }
	var end atomic.Bool
	var scribbler, askers sync.WaitGroup
	scribbler.Go(func() {
		for i := 0; !end.Load(); i++ {
			p.put(siteAt+i%2*copySize, []byte{nop, breakpoint, 0x55}[i%3])
			p.put(semaphoreAt+i%2*copySize, byte(i))
		}
	})
	for range 4 {
		askers.Go(func() {
			for range 50 {
				both()
				k.note(f, 1)
				k.Settle()
				k.Late()
			}
		})
	}
	askers.Wait()
	end.Store(true)
	scribbler.Wait()
	for _, test := range []struct{ first, second, want byte }{{nop, nop, 0}, {nop, breakpoint, 1}, {breakpoint, breakpoint, 2}} {
		p.put(siteAt, test.first)
		p.put(siteAt+copySize, test.second)
		p.put(semaphoreAt+1, 0)
		p.put(semaphoreAt+1+copySize, 0)
		for range 4 {
			askers.Go(both)
		}
		askers.Wait()
		second := byte(0)
		if test.second == breakpoint {
			second = 1
		}
		if p.semaphore(0) != test.want || p.semaphore(copySize) != second {
			t.Errorf("semaphores are %d and %d, want %d for both and %d", p.semaphore(0), p.semaphore(copySize), test.want, second)
		}
	}
}

// TestKeeperLeft keeps count in a process whose memory answers late: files whose turn came meanwhile
// have theirs then.
func TestKeeperLeft(t *testing.T) {
	asked, answer := make(chan bool), make(chan bool)
	var first sync.Once
	p := &program{}
	p.before = func(int64) { first.Do(func() { asked <- true; <-answer }) }
	p.put(siteAt, breakpoint)
	p.put(copySize+siteAt, breakpoint)
	k := newKeeper(t, p)
	ended := make(chan bool)
	go func() {
		k.balance(newFile(), 1, []uint64{0})
		close(ended)
	}()
	<-asked
	<-ended
	k.balance(newFile(), 1, []uint64{copySize})
	if n := p.semaphore(copySize); n != 0 {
		t.Errorf("the semaphore is %d before the memory answers", n)
	}
	close(answer)
	for deadline := time.Now().Add(time.Minute); p.semaphore(0) != 1 || p.semaphore(copySize) != 1; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the semaphores are %d and %d, want 1", p.semaphore(0), p.semaphore(copySize))
		}
	}
}
