package gate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/kernel"
	"github.com/go-usdt/usdt/internal/procfs"
)

// Family stops the processes that a process has started where a [Gate] stops that process itself.
// Nobody need wait for them; a [Guard] lets them go on if this process is killed.
type Family struct {
	builder   *builder
	members   *ebpf.Map
	guard     *Guard
	events    *ebpf.Map
	reader    *ringbuf.Reader
	execution link.Link
	linkers   map[int]*attach.Attachment // by process
	closing   sync.WaitGroup
}

// NewFamily puts up a gate for the processes whose ids are keys of members, except for process pid,
// which has a gate of its own. None is stopped unless the guard may signal it.
func NewFamily(pid int, members *ebpf.Map, guard *Guard) (_ *Family, err error) {
	f := &Family{guard: guard, linkers: map[int]*attach.Attachment{}}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	if f.members, err = members.Clone(); err != nil {
		return nil, err
	}
	if f.builder, err = newBuilder(pid, guard.counters); err != nil {
		return nil, err
	}
	if f.events, err = ebpf.NewMap(&ebpf.MapSpec{Name: "gate_events", Type: ebpf.RingBuf, MaxEntries: 1 << 16}); err != nil {
		return nil, fmt.Errorf("create a buffer for stops: %w", err)
	}
	if f.reader, err = ringbuf.NewReader(f.events); err != nil {
		return nil, fmt.Errorf("read stops: %w", err)
	}
	if f.execution, err = attachTracepoint("sched_process_exec", &ebpf.ProgramSpec{Name: "gate_child", Type: ebpf.RawTracepoint, License: kernel.License, Instructions: f.stop(true)}); err != nil {
		return nil, err
	}
	return f, nil
}

// Next waits until a process stops, which goes on by SIGCONT, and reports whether it has executed
// a program. The error wraps os.ErrClosed after Close.
func (f *Family) Next() (pid int, executed bool, err error) {
	record, err := f.reader.Read()
	if err != nil {
		return 0, false, err
	}
	return int(binary.NativeEndian.Uint32(record.RawSample)), record.RawSample[4] != 0, nil
}

// forget forgets the processes that have ended.
func (f *Family) forget() error {
	for pid, l := range f.linkers {
		if !f.Has(pid) {
			f.closing.Go(func() { l.Close() }) // which waits for the kernel
			delete(f.linkers, pid)
		}
	}
	var ended []uint32
	var pid, one uint32
	entries := f.guard.stopped.Iterate()
	for entries.Next(&pid, &one) {
		if !f.Has(int(pid)) {
			ended = append(ended, pid)
		}
	}
	for _, pid := range ended {
		f.guard.stopped.Delete(pid)
	}
	return entries.Err()
}

// Linker also makes a process stop that has executed a program when its dynamic linker has mapped
// libraries, see [Gate.Linker].
func (f *Family) Linker(pid int) error {
	if err := f.forget(); err != nil {
		return err
	}
	o, err := linkerOf(pid)
	if err != nil {
		return err
	}
	if o == nil {
		if old := f.linkers[pid]; old != nil {
			delete(f.linkers, pid)
			return old.Close()
		}
		return nil
	}
	probe, err := debugState(o)
	if err != nil {
		return err
	}
	l, err := attachMapped(pid, probe, func(typ ebpf.AttachType) *ebpf.ProgramSpec {
		return &ebpf.ProgramSpec{Name: "gate_mapped", Type: ebpf.Kprobe, AttachType: typ, License: kernel.License, Instructions: f.stop(false)}
	})
	if old := f.linkers[pid]; old != nil {
		f.closing.Go(func() { old.Close() })
		delete(f.linkers, pid)
	}
	if err == nil {
		f.linkers[pid] = l
	}
	return err
}

// Has reports whether the process is a member.
func (f *Family) Has(pid int) bool {
	value, err := f.members.LookupBytes(uint32(pid))
	return err == nil && value != nil
}

// stopTime is longer than a signal takes that a program has sent: a tick of the clock, where the
// kernel may not send it at once. A process that has not stopped then was let go on by others.
const stopTime = 100 * time.Millisecond

// Await waits until a process has stopped, which would outlast an earlier SIGCONT.
func (f *Family) Await(pid int) {
	for end := time.Now().Add(stopTime); !procfs.Stopped(pid) && f.Has(pid) && time.Now().Before(end); {
		time.Sleep(50 * time.Microsecond)
	}
}

// Close removes the gate, and lets all go on.
func (f *Family) Close() error {
	f.closing.Wait()
	var errs []error
	if f.execution != nil {
		errs = append(errs, f.execution.Close())
	}
	for _, l := range f.linkers {
		errs = append(errs, l.Close())
	}
	if f.reader != nil {
		errs = append(errs, f.reader.Close())
	}
	for _, m := range []*ebpf.Map{f.events, f.members} {
		if m != nil {
			errs = append(errs, m.Close())
		}
	}
	return errors.Join(append(errs, continueAll(f.guard.stopped))...)
}

// continueAll lets the processes go on that have been stopped, when no program stops any more.
// Most go on already, and notice nothing.
func continueAll(stopped *ebpf.Map) error {
	settle()
	var pid, one uint32
	entries := stopped.Iterate()
	for entries.Next(&pid, &one) {
		unix.Kill(int(pid), unix.SIGCONT) // it may have ended
	}
	return entries.Err()
}
