package list

import (
	"context"
	"os"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/procfs"
)

// MarkRefused notes at which probes sdttrace would not attach, and why. It leaves out
// reasons that it cannot find out, such as the reasons of processes that have ended meanwhile:
// the list says what is mapped.
func (l *List) MarkRefused(ctx context.Context, pids []int) {
	var selectors []string
	for i := range l.Selectors {
		selectors = append(selectors, l.Selectors[i].String())
	}
	if len(selectors) == 0 {
		selectors = []string{"*:*"}
	}
	plan, err := attach.Find(ctx, selectors, &attach.FindOptions{Target: attach.Target{PIDs: pids}})
	if err != nil {
		return
	}
	refused := map[uint64][]*attach.Site{} // by the site's offset in its file
	for i := range plan {
		if s := &plan[i]; s.Reason != nil {
			refused[s.Probe.Offset] = append(refused[s.Probe.Offset], s)
		}
	}
	files := map[string]os.FileInfo{}
	for i := range l.Probes {
		p := &l.Probes[i]
		for _, s := range refused[p.offset] {
			if s.Probe.Provider != p.Provider || s.Probe.Name != p.Name || s.PID != 0 && s.PID != p.PID {
				continue
			}
			if _, known := files[p.opens]; !known {
				files[p.opens], _ = procfs.Stat(p.opens)
			}
			if info := files[p.opens]; info != nil && s.Probe.IsIn(info) {
				p.Reason = s.Reason.Error()
			}
		}
	}
}
