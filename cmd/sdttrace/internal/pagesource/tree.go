package pagesource

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/list"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/remark"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/serve"
	"github.com/go-usdt/usdt/internal/printable"
)

// treeAge is how old a tree may be that is shown again: several pages cost no more than one.
const treeAge = time.Second

// Tree reads which probes there are, and who watches them, when a page asks.
type Tree struct {
	PIDs     []int // nil for all processes
	Attached *Clicked

	mu     sync.Mutex
	at     time.Time
	probes []list.Probe
	remark string
}

// Read returns the tree.
func (t *Tree) Read(ctx context.Context) (*serve.Tree, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if time.Since(t.at) > treeAge || t.Attached.since(t.at) {
		began := time.Now()
		l := list.List{Silent: remark.Silences{}}
		var says bytes.Buffer
		if err := l.ReadWatched(ctx, t.PIDs, printable.Writer(&says)); err != nil && !errors.Is(err, list.ErrNoneMatches) {
			return nil, err
		}
		t.at, t.probes = began, l.Probes
		t.remark = strings.ReplaceAll(strings.TrimSpace(says.String()), "sdttrace: ", "")
	}
	return t.tree(), nil
}

// tree groups the processes that have a probe.
func (t *Tree) tree() *serve.Tree {
	out := &serve.Tree{Remark: t.remark, Probes: []serve.TreeProbe{}}
	at := map[serve.Probe]int{}
	for i := range t.probes {
		p := &t.probes[i]
		probe := serve.Probe{Provider: p.Provider, Name: p.Name}
		n, ok := at[probe]
		if !ok {
			n = len(out.Probes)
			at[probe] = n
			out.Probes = append(out.Probes, serve.TreeProbe{Probe: probe, Attached: t.Attached.has(probe)})
		}
		watched := -1
		if p.Semaphore != nil {
			watched = p.Count()
		}
		out.Probes[n].Processes = append(out.Probes[n].Processes, serve.Process{
			PID: p.PID, Comm: p.Comm, Path: p.Path, Watched: watched, State: p.State, By: p.By(),
		})
	}
	for probe := range t.Attached.all() {
		if _, ok := at[probe]; !ok { // whose processes have ended, and may come again
			out.Probes = append(out.Probes, serve.TreeProbe{Probe: probe, Attached: true, Processes: []serve.Process{}})
		}
	}
	slices.SortFunc(out.Probes, func(a, b serve.TreeProbe) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Name, b.Name))
	})
	return out
}
