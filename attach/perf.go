package attach

import (
	"errors"
	"fmt"
	"os"

	"github.com/cilium/ebpf/link"
)

// maxPerfSemaphore: perf events carry the semaphore's offset in 32 bits
// (PERF_UPROBE_REF_CTR_OFFSET_BITS, kernel/events/core.c).
const maxPerfSemaphore = 1<<32 - 1

// attachPerf attaches one perf event per site.
func (g *group) attachPerf(ex *link.Executable) ([]detacher, error) {
	var all []detacher
	for i, s := range g.sites {
		if s.Probe.SemaphoreOffset > maxPerfSemaphore {
			s.Reason = fmt.Errorf("the semaphore's offset %#x is beyond the 4 GiB that perf events reach: %w", s.Probe.SemaphoreOffset, ErrSilent)
			continue
		}
		l, err := ex.Uprobe("", g.prog, &link.UprobeOptions{
			Address:      s.Offset,
			PID:          g.pid,
			RefCtrOffset: s.Probe.SemaphoreOffset,
			Cookie:       g.cookies[i],
		})
		if err == nil {
			s.Attached = true
			all = append(all, detacher{link: l})
			continue
		}
		if whole := g.wholeError(err); whole != nil {
			return all, whole
		}
		s.Reason = siteError(err)
	}
	return all, nil
}

// detacher undoes a link.
type detacher struct{ link link.Link }

// stop makes the link's program run no more, at once, and returns what is left
// to close, nil if nothing is. The kernel takes about 0.1 s to close a perf
// event on a uprobe, one after the other, so that is left to the background.
func (d detacher) stop() (*os.File, error) {
	pe, ok := d.link.(link.PerfEvent)
	if !ok {
		return nil, d.link.Close()
	}
	event, err := pe.PerfEvent()
	if err != nil {
		// No second descriptor to be had: close it here.
		return nil, d.link.Close()
	}
	if err := d.link.Close(); err != nil {
		return nil, errors.Join(err, event.Close())
	}
	return event, nil
}
