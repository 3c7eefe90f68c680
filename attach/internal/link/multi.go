package link

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/features"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/shield"
)

// multiLinks are uprobe_multi links, which hold many sites.
var multiLinks = mechanism{
	name:       "uprobe_multi",
	program:    ebpf.Kprobe,
	attachment: ebpf.AttachTraceUprobeMulti,
	usable: func(filtered bool) error {
		err := features.HaveBPFLinkUprobeMulti()
		if err == nil && filtered {
			err = MultiPIDFilter.Require()
		}
		return err
	},
	since:  "Linux 6.6 has them, 6.10 with a correct process filter",
	attach: attachMulti,
}

// maxMulti is MAX_UPROBE_MULTI_CNT, kernel/trace/bpf_trace.c.
const maxMulti = 1 << 20

// attachMulti attaches by as few links as possible.
func attachMulti(ctx context.Context, a *attempt) error {
	for start, end := range chunks(len(a.Sites)) {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := a.attachMulti(start, end); err != nil {
			return err
		}
	}
	return nil
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

// attachMulti attaches sites start to end. The kernel attaches all or none:
// attachMulti finds a refused site by halving, and does not try others with its
// opcode.
func (a *attempt) attachMulti(start, end int) error {
	sites := make([]int, 0, end-start)
	for i := start; i < end; i++ {
		if err := a.opcodes[a.Sites[i].Opcode]; err != nil {
			a.outcomes[i] = err
			continue
		}
		sites = append(sites, i)
	}
	if len(sites) == 0 {
		return nil
	}
	fd, err := a.calls.LinkMulti(a.Group, sites)
	if err == nil && a.ended() {
		err = errors.Join(unix.ESRCH, shield.Close(fd))
	}
	if err == nil {
		for _, i := range sites {
			a.outcomes[i] = nil
		}
		a.links = append(a.links, Link{File: a.File, PID: a.PID, Prog: a.Prog, fd: fd, event: -1})
		return nil
	}
	if whole := a.wholeError(err); whole != nil {
		return whole
	}
	if errors.Is(err, unix.EINVAL) && a.Prog != nil && refusesProgram(a.Prog, a.Session) {
		return fmt.Errorf("attach to %s: the program was not loaded for uprobe_multi links, which need the attach type TraceUprobeMulti: %w", a.Path, err)
	}
	if len(sites) == 1 {
		a.refuse(sites[0], err)
		return nil
	}
	middle := start + (end-start)/2
	if err := a.attachMulti(start, middle); err != nil {
		return err
	}
	return a.attachMulti(middle, end)
}

// refusesProgram reports whether the kernel makes no link for a program, whatever it is to be attached
// to: it looks at the program first (kernel/trace/bpf_trace.c: bpf_uprobe_multi_link_attach), and would
// otherwise not find this file.
func refusesProgram(prog *ebpf.Program, session bool) bool {
	nowhere := multi{path: "/proc/self/nothing", prog: prog, session: session, offsets: []uint64{0}, refCtrOffsets: []uint64{0}, cookies: []uint64{0}}
	_, err := nowhere.create()
	return errors.Is(err, unix.EINVAL)
}

// multiReturn is BPF_F_UPROBE_MULTI_RETURN, include/uapi/linux/bpf.h.
const multiReturn = 1

// AttachSession is BPF_TRACE_UPROBE_SESSION in the same file, which
// cilium/ebpf has no name for.
const AttachSession ebpf.AttachType = 57
