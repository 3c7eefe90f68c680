package watch

import (
	"errors"
	"fmt"
	"os"

	"github.com/cilium/ebpf/link"
)

// bpfLink is a BPF link to places in one file.
type bpfLink struct {
	path    string
	offsets []uint64
	process int
	watcher Watcher
}

// links returns the BPF links to user space.
func (w *Watchers) links() (out []bpfLink) {
	it := new(link.Iterator)
	defer it.Close()
	mute := 0
	for it.Next() {
		info, err := it.Link.Info()
		if err != nil {
			mute++ // before Linux 6.8, links of uprobe_multi do not report their places
			continue
		}
		l := bpfLink{watcher: Watcher{Link: uint32(it.ID)}}
		if m := info.UprobeMulti(); m != nil {
			offsets, ok := m.Offsets()
			if !ok || m.File == "" {
				mute++
				continue
			}
			l.watcher.Kind, l.path = "uprobe_multi", m.File
			for _, o := range offsets {
				l.offsets = append(l.offsets, o.Offset)
			}
			if pid, ok := m.Pid(); ok {
				l.process = int(pid)
			}
			out = append(out, l)
		} else if e := info.PerfEvent(); e != nil && e.Uprobe() != nil {
			u := e.Uprobe()
			l.watcher.Kind, l.path, l.offsets = "perf_event", u.File, []uint64{uint64(u.Offset)}
			out = append(out, l)
		}
	}
	switch err := it.Err(); {
	case errors.Is(err, os.ErrPermission):
		w.Unseen = append(w.Unseen, errors.New("BPF links and perf events, which take CAP_SYS_ADMIN"))
	case err != nil:
		w.Unseen = append(w.Unseen, fmt.Errorf("BPF links: %w", err))
	case mute > 0:
		w.Unseen = append(w.Unseen, fmt.Errorf("%d BPF links, which the kernel describes from Linux 6.8 on only", mute))
	}
	return out
}
