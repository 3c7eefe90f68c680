package attach

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"syscall"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/features"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/privilege"
	"github.com/go-usdt/usdt/attach/internal/shield"
	"github.com/go-usdt/usdt/internal/procfs"
)

// maxMulti is MAX_UPROBE_MULTI_CNT, kernel/trace/bpf_trace.c.
const maxMulti = 1 << 20

// enotsupp is the kernel's internal ENOTSUPP, which uprobe_register returns
// for an instruction that it cannot probe.
const enotsupp = syscall.Errno(524)

// group is a set of sites that one link can hold.
type group struct {
	path    string
	open    string // leads to the file that was planned for
	file    procfs.ID
	pid     int
	procs   *processes // pid is one of them if it is not 0
	returns bool       // the sites are returns from functions
	session bool       // the program runs at their entry and again when they return
	prog    *ebpf.Program
	sites   []*Site
	cookies []uint64
	refused map[string]error // by opcode
}

// chooseLink returns the mechanism for this kernel. filtered says that links
// will be restricted to a process.
func chooseLink(want LinkKind, filtered bool) (LinkKind, error) {
	if want == PerfLink {
		return PerfLink, nil
	}
	err := features.HaveBPFLinkUprobeMulti()
	if err == nil && filtered {
		err = multiPIDFilter.Require()
	}
	switch {
	case err == nil:
		return MultiLink, nil
	case !errors.Is(err, ebpf.ErrNotSupported):
		return 0, privilege.Explain("ask the kernel for uprobe_multi", err)
	case want == MultiLink:
		return 0, fmt.Errorf("uprobe_multi links: %w (Linux 6.6 has them, 6.10 with a correct process filter)", ebpf.ErrNotSupported)
	}
	return PerfLink, nil
}

// attach attaches the group and says at each site how that went. It returns
// what was attached even with an error, which concerns the whole group.
func (g *group) attach(ctx context.Context, kind LinkKind) ([]detacher, error) {
	if kind == PerfLink {
		return g.attachPerf(ctx)
	}
	var all []detacher
	for start, end := range chunks(len(g.sites)) {
		if err := context.Cause(ctx); err != nil {
			return all, err
		}
		some, err := g.attachMulti(start, end)
		all = append(all, some...)
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// chunks yields the parts of n sites that are not too many for one link.
func chunks(n int) iter.Seq2[int, int] {
	return func(yield func(start, end int) bool) {
		for start := 0; start < n; start += maxMulti {
			if !yield(start, min(start+maxMulti, n)) {
				return
			}
		}
	}
}

// attachMulti attaches sites start to end. The kernel attaches all or none, so
// that a site which it refuses is found by halving, and others with its opcode
// are not tried.
func (g *group) attachMulti(start, end int) ([]detacher, error) {
	m := multi{path: g.open, prog: g.prog, pid: g.pid, session: g.session}
	if g.returns {
		m.flags = multiReturn
	}
	sites := make([]*Site, 0, end-start)
	for i, s := range g.sites[start:end] {
		if s.Reason = g.refused[s.opcode]; s.Reason != nil {
			continue
		}
		sites = append(sites, s)
		m.cookies = append(m.cookies, g.cookies[start+i])
		m.offsets = append(m.offsets, s.Offset)
		m.refCtrOffsets = append(m.refCtrOffsets, s.Probe.SemaphoreOffset)
	}
	if len(sites) == 0 {
		return nil, nil
	}
	fd, err := m.create()
	if err == nil && g.ended() {
		err = errors.Join(unix.ESRCH, shield.Close(fd))
	}
	if err == nil {
		for _, s := range sites {
			s.Attached = true
		}
		return []detacher{{link: fd, event: -1, file: g.file, pid: g.pid, prog: g.prog}}, nil
	}
	if whole := g.wholeError(err); whole != nil {
		return nil, whole
	}
	if len(sites) == 1 {
		g.refuse(sites[0], err)
		return nil, nil
	}
	middle := start + (end-start)/2
	all, err := g.attachMulti(start, middle)
	if err != nil {
		return all, err
	}
	some, err := g.attachMulti(middle, end)
	return append(all, some...), err
}

// refuse notes why the kernel refused a site, and its opcode if that is why.
func (g *group) refuse(s *Site, err error) {
	s.Reason = siteError(err)
	if s.opcode == "" || !errors.Is(err, enotsupp) {
		return
	}
	if g.refused == nil {
		g.refused = map[string]error{}
	}
	g.refused[s.opcode] = s.Reason
}

// wholeError returns what makes attaching any site of the group pointless, nil
// if err may be one site's.
func (g *group) wholeError(err error) error {
	switch {
	case errors.Is(err, os.ErrPermission):
		return privilege.Explain("attach to "+g.path, err)
	case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ESRCH):
		return &goneError{path: g.path, pid: g.pid, ended: g.ended()}
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE), errors.Is(err, unix.ENOMEM), errors.Is(err, unix.E2BIG),
		errors.Is(err, unix.EBADF), errors.Is(err, unix.EIO), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, link.ErrNotSupported):
		return fmt.Errorf("attach to %s: %w", g.path, err)
	}
	return nil
}

// ended reports whether the process has ended that the group is restricted to. A
// link that was made before for its PID may be for another process.
func (g *group) ended() bool { return g.pid != 0 && g.procs.ended(g.pid) }

// goneError is the error for sites that were found and are no longer there:
// objects are unloaded and processes end while they are being attached to.
type goneError struct {
	path  string
	pid   int
	ended bool
}

func (e *goneError) Error() string {
	if e.ended {
		return fmt.Sprintf("process %d has ended", e.pid)
	}
	return e.path + " is gone: it has been unloaded, or its process has ended"
}

func (e *goneError) Unwrap() error { return os.ErrNotExist }

// siteError explains why the kernel refused a single site.
func siteError(err error) error {
	switch {
	case errors.Is(err, enotsupp):
		return fmt.Errorf("the kernel cannot probe the instruction at the site: %w", err)
	case errors.Is(err, unix.EINVAL):
		return fmt.Errorf("the kernel refused the site; another tracer may hold it with another semaphore: %w", err)
	}
	return err
}
