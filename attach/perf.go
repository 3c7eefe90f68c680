package attach

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/privilege"
	"github.com/go-usdt/usdt/attach/internal/shield"
	"github.com/go-usdt/usdt/internal/procfs"
)

// maxPerfSemaphore: perf events carry the semaphore's offset in 32 bits
// (PERF_UPROBE_REF_CTR_OFFSET_BITS, kernel/events/core.c).
const maxPerfSemaphore = 1<<32 - 1

// attachPerf attaches one perf event per site.
func (g *group) attachPerf(ctx context.Context) ([]detacher, error) {
	var all []detacher
	for i, s := range g.sites {
		if err := context.Cause(ctx); err != nil {
			return all, err
		}
		if s.Probe.SemaphoreOffset > maxPerfSemaphore {
			s.Reason = fmt.Errorf("the semaphore's offset %#x is beyond the 4 GiB that perf events reach: %w", s.Probe.SemaphoreOffset, ErrSilent)
			continue
		}
		d, err := g.attachEvent(s, g.cookies[i])
		if err == nil {
			s.Attached = true
			d.file, d.pid = g.file, g.pid
			all = append(all, d)
			continue
		}
		if errors.Is(err, os.ErrPermission) && !privilege.Has(unix.CAP_SYS_ADMIN) {
			// kernel/events/core.c: perf_uprobe_event_init asks for nothing less.
			return all, &privilege.Error{Op: "attach to " + g.path + " by perf events", Missing: []string{"CAP_SYS_ADMIN"}, Err: err}
		}
		if whole := g.wholeError(err); whole != nil {
			return all, whole
		}
		s.Reason = siteError(err)
	}
	return all, nil
}

// attachEvent opens a perf event for a site and links the program to it.
func (g *group) attachEvent(s *Site, cookie uint64) (detacher, error) {
	event, err := openUprobe(g.open, s.Offset, s.Probe.SemaphoreOffset, g.pid, g.returns)
	if err != nil {
		return detacher{}, fmt.Errorf("perf_event_open: %w", err)
	}
	// See multi.create.
	attr := struct {
		prog, target, attachType, flags uint32
		cookie                          uint64
	}{uint32(g.prog.FD()), uint32(event), uint32(ebpf.AttachPerfEvent), 0, cookie}
	fd, err := createLink(g.prog, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
	if err != nil {
		return detacher{}, errors.Join(err, shield.Close(event))
	}
	d := detacher{link: fd, event: event, prog: g.prog}
	if g.ended() {
		return detacher{}, errors.Join(unix.ESRCH, d.stop(), shield.Close(event))
	}
	return d, nil
}

// openUprobe opens a perf event on a uprobe, which puts the breakpoint in
// place. pid 0 means every process.
func openUprobe(path string, offset, semaphoreOffset uint64, pid int, returns bool) (fd int, err error) {
	typ, err := uprobePMU()
	if err != nil {
		return 0, err
	}
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		return 0, fmt.Errorf("path %q: %w", path, err)
	}
	cpu := -1
	if pid == 0 {
		pid, cpu = -1, 0
	}
	config := semaphoreOffset << 32
	if returns {
		config |= 1 // PERF_PROBE_CONFIG_IS_RETPROBE, kernel/events/core.c
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(name)
	attr := unix.PerfEventAttr{
		Type:   typ,
		Size:   uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Config: config,
		Ext1:   uint64(uintptr(unsafe.Pointer(name))),
		Ext2:   offset,
	}
	r, err := shield.Syscall(unix.SYS_PERF_EVENT_OPEN, uintptr(unsafe.Pointer(&attr)), uintptr(pid), uintptr(cpu), ^uintptr(0), unix.PERF_FLAG_FD_CLOEXEC)
	return int(r), err
}

// uprobePMU returns the kernel's number for perf events on uprobes.
var uprobePMU = sync.OnceValues(func() (uint32, error) {
	const path = "/sys/bus/event_source/devices/uprobe/type"
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("the kernel has no perf events on uprobes: %w", err)
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return uint32(n), nil
})

// detacher undoes a link.
type detacher struct {
	link  int
	event int       // the perf event that the link is on, -1 of a uprobe_multi link
	file  procfs.ID // see Site.file
	pid   int       // of the process that it is restricted to, 0 of none
	prog  *ebpf.Program
}

// stop closes the link: its program runs no more. The perf event, if there is
// one, is left to be closed: the kernel takes about 0.1 s for one on a uprobe,
// one after the other.
func (d detacher) stop() error {
	if d.event < 0 {
		return shield.Close(d.link)
	}
	return unix.Close(d.link)
}
