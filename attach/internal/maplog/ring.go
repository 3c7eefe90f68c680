package maplog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/kernel"
)

// ringPages is the size of a CPU's ring, without the page before it: some 500 mappings. It is
// small enough for several sessions within what users may lock (perf_event_mlock_kb).
const ringPages = 16

// buildIDs asks for files' build-ids in place of their inodes (include/uapi/linux/perf_event.h,
// struct perf_event_attr, build_id).
const buildIDs = 1 << 34

// formatLost has read(2) return how many records were lost, from Linux 6.0 on (PERF_FORMAT_LOST).
const formatLost = 1 << 4

// ring is what the kernel reports for one CPU.
type ring struct {
	fd   int
	mem  []byte
	page *unix.PerfEventMmapPage // at its beginning
	data []byte                  // behind that page
	tail atomic.Uint64           // up to where it has been read
}

// openRings returns the rings of all CPUs, and a descriptor that wakes who polls them. bits are more
// bits of perf_event_attr.
func openRings(bits uint64) (rings []*ring, wake int, err error) {
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		return nil, 0, err
	}
	if wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC); err != nil {
		return nil, 0, os.NewSyscallError("eventfd", err)
	}
	// A search for watchers of probes takes an event without a program for one of perf's, whose
	// probe the kernel does not report (package watch). This program never runs, since the event
	// never counts. The events keep it.
	program, _ := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "usdt_maps", Type: ebpf.PerfEvent, License: kernel.License, Instructions: kernel.EmptyProgram(),
	})
	defer program.Close()
	for cpu := range cpus {
		r, err := openRing(cpu, bits)
		if errors.Is(err, unix.ENODEV) {
			continue
		}
		if err != nil {
			closeRings(rings, wake)
			return nil, 0, err
		}
		rings = append(rings, r)
		if program != nil {
			unix.IoctlSetInt(r.fd, unix.PERF_EVENT_IOC_SET_BPF, program.FD()) // without it, only more is said than is sure
		}
	}
	return rings, wake, nil
}

func closeRings(rings []*ring, wake int) {
	for _, r := range rings {
		r.close()
	}
	unix.Close(wake)
}

// The kernel may go on reporting for pause before it is read. Rounds that bring nothing of use take
// twice as long each, up to mostPause: others may start many processes, and each round costs.
const (
	pause     = time.Millisecond
	mostPause = 4 * time.Millisecond
)

// poll calls read when rings have something, and again if that says that there may be more, until
// wake is written to. used says that something was of use.
func poll(rings []*ring, wake int, read func() (more, used bool)) {
	polled := []unix.PollFd{{Fd: int32(wake), Events: unix.POLLIN}}
	for _, r := range rings {
		polled = append(polled, unix.PollFd{Fd: int32(r.fd), Events: unix.POLLIN})
	}
	quiet := pause
	for wait := -1; ; {
		asleep := time.Now()
		if _, err := unix.Poll(polled, wait); err != nil && err != unix.EINTR {
			return
		}
		if polled[0].Revents != 0 {
			return
		}
		more, used := read()
		wait = -1
		if more {
			wait = 0
		}
		if used || time.Since(asleep) > mostPause {
			quiet = pause
		} else {
			quiet = min(2*quiet, mostPause)
		}
		for i := range polled {
			polled[i].Revents = 0
		}
		unix.Poll(polled[:1], int(quiet/time.Millisecond))
	}
}

// openRing returns the ring of a CPU. The error wraps ENODEV if the CPU is not there.
func openRing(cpu int, bits uint64) (*ring, error) {
	attr := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_DUMMY, Sample_type: unix.PERF_SAMPLE_TIME,
		Bits: unix.PerfBitMmap | unix.PerfBitMmap2 | unix.PerfBitTask | unix.PerfBitComm | unix.PerfBitCommExec |
			unix.PerfBitSampleIDAll | unix.PerfBitUseClockID | unix.PerfBitWatermark | bits,
		Clockid: unix.CLOCK_MONOTONIC, Wakeup: 1, // each record wakes
	}
	attr.Size = uint32(unsafe.Sizeof(attr))
	attr.Read_format = formatLost
	fd, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err == unix.EINVAL {
		attr.Read_format = 0
		fd, err = unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	}
	if err != nil {
		return nil, fmt.Errorf("ask what processes map on CPU %d: %w", cpu, err)
	}
	size := os.Getpagesize()
	mem, err := unix.Mmap(fd, 0, (1+ringPages)*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("map the ring of CPU %d: %w", cpu, err)
	}
	// The mapping begins with a page for the struct, lives until close and is page-aligned.
	return &ring{fd: fd, mem: mem, page: (*unix.PerfEventMmapPage)(unsafe.Pointer(&mem[0])), data: mem[size:]}, nil
}

// head returns up to where the kernel has written.
func (r *ring) head() uint64 { return atomic.LoadUint64(&r.page.Data_head) }

// waiting reports whether there is something to read.
func (r *ring) waiting() bool { return r.head() != r.tail.Load() }

// read calls f with each record, and where it begins. f must not keep it.
func (r *ring) read(f func(rec []byte, at uint64)) {
	head, tail := r.head(), r.tail.Load()
	size := uint64(len(r.data))
	if head-tail > size {
		tail = head // which the kernel does not do
	}
	var buf []byte
	for tail != head {
		at := tail % size
		length := uint64(recordSize(r.data[at:]))
		if length < headerSize || length%8 != 0 || length > head-tail {
			tail = head // nor this
			break
		}
		if rec := r.data[at:]; uint64(len(rec)) >= length {
			f(rec[:length], tail)
		} else {
			buf = append(append(buf[:0], rec...), r.data[:length-uint64(len(rec))]...)
			f(buf, tail)
		}
		tail += length
	}
	r.tail.Store(tail)
	atomic.StoreUint64(&r.page.Data_tail, tail)
}

// lost returns how many records the kernel dropped because the ring was full; ok is false if it
// does not count them.
func (r *ring) lost() (n uint64, ok bool) {
	var b [16]byte // the event's count, and what was lost
	size, err := unix.Read(r.fd, b[:])
	return binary.NativeEndian.Uint64(b[8:]), err == nil && size == len(b)
}

func (r *ring) close() {
	unix.Munmap(r.mem)
	unix.Close(r.fd)
}
