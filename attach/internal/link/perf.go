package link

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/shield"
	"github.com/go-usdt/usdt/internal/privilege"
)

// perfEvents attaches by one perf event per site. The kernel takes about 0.1 s to
// close one.
var perfEvents = mechanism{name: "perf event", program: ebpf.Kprobe, attachment: ebpf.AttachNone, slow: true, led: true, attach: attachPerf, open: openOnUprobe}

// maxPerfSemaphore is the largest offset of a semaphore: perf events carry it in
// 32 bits (PERF_UPROBE_REF_CTR_OFFSET_BITS, kernel/events/core.c).
const maxPerfSemaphore = 1<<32 - 1

// FarError says that a perf event cannot count a semaphore, so that the probe
// would stay silent.
type FarError struct{ RefCtrOffset uint64 }

func (e *FarError) Error() string {
	return fmt.Sprintf("the semaphore's offset %#x is beyond the 4 GiB that perf events reach", e.RefCtrOffset)
}

// attachPerf attaches one perf event per site.
func attachPerf(ctx context.Context, a *attempt) error {
	for i := range a.Sites {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		s := &a.Sites[i]
		if s.RefCtrOffset > maxPerfSemaphore {
			a.outcomes[i] = &FarError{s.RefCtrOffset}
			continue
		}
		l, err := a.attachEvent(s)
		if err == nil {
			a.outcomes[i] = nil
			a.links = append(a.links, l)
			continue
		}
		if errors.Is(err, os.ErrPermission) && (a.kind != Tracepoint || privilege.Has(unix.CAP_PERFMON)) && !privilege.Has(unix.CAP_SYS_ADMIN) {
			// kernel/events/core.c: perf_uprobe_event_init requires it, and Debian's kernels for all events if
			// kernel.perf_event_paranoid is 3.
			return &privilege.Error{Op: "attach to " + a.Path + " by perf events", Missing: []string{"CAP_SYS_ADMIN"}, Err: err}
		}
		if whole := a.wholeError(err); whole != nil {
			return whole
		}
		a.outcomes[i] = a.kind.explain(err)
	}
	return nil
}

// errProgram is wrapped by the error for a program that no site would take.
var errProgram = errors.New("the program was not loaded for perf events")

// attachEvent opens a perf event for a site and links the program to it.
func (a *attempt) attachEvent(s *Site) (Link, error) {
	event, err := a.by.open(a, s)
	if err != nil {
		return Link{}, err
	}
	fd, err := a.calls.LinkEvent(a.Group, event, s.Cookie)
	if err != nil {
		if errors.Is(err, unix.EINVAL) && a.kind != Tracepoint {
			err = fmt.Errorf("%w, which need no attach type, and programs that do not sleep: %w", errProgram, err)
		}
		if errors.As(err, new(*heldError)) {
			go shield.Close(event) // is held up as well
			return Link{}, err
		}
		return Link{}, errors.Join(err, shield.Close(event))
	}
	l := Link{File: a.File, PID: a.PID, Prog: a.Prog, kernel: a.kind == KernelPerf, fd: fd, event: event}
	if a.ended() {
		return Link{}, errors.Join(unix.ESRCH, l.Stop(), shield.Close(event))
	}
	return l, nil
}

func openOnUprobe(a *attempt, s *Site) (fd int, err error) { return a.calls.OpenUprobe(a.Group, s) }

// uprobePMU returns the kernel's number for perf events on uprobes.
var uprobePMU = sync.OnceValues(func() (uint32, error) { return pmu("uprobe") })

// pmu returns the kernel's number for perf events of a kind.
func pmu(kind string) (uint32, error) {
	path := "/sys/bus/event_source/devices/" + kind + "/type"
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("the kernel has no perf events on %ss: %w", kind, err)
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return uint32(n), nil
}
