package usdtreceiver

import (
	"encoding/json"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"
)

// reload knows whether the collector was told to reload its configuration: it then shuts down all
// components, and starts others.
type reload struct {
	told chan os.Signal
}

func newReload() *reload {
	r := &reload{make(chan os.Signal, 1)}
	signal.Notify(r.told, syscall.SIGHUP)
	return r
}

// close reports whether the collector reloads.
func (r *reload) close() bool {
	signal.Stop(r.told)
	select {
	case <-r.told:
		return true
	default:
		return false
	}
}

// keeping is how long traces without a receiver stay attached.
const keeping = 10 * time.Second

// kept are traces of receivers that were shut down, by receiver. The collector makes new factories
// for a new configuration, so nothing but the process has them.
var kept struct {
	mu sync.Mutex
	of map[string][]*running
}

// keep keeps traces for the receiver that follows.
func keep(of string, all []*running) {
	if len(all) == 0 {
		return
	}
	kept.mu.Lock()
	defer kept.mu.Unlock()
	if kept.of == nil {
		kept.of = map[string][]*running{}
	}
	kept.of[of] = append(kept.of[of], all...)
	time.AfterFunc(keeping, func() { takeKept(of).close() })
}

// leftovers are traces that were kept, and may be taken.
type leftovers []*running

func takeKept(of string) *leftovers {
	kept.mu.Lock()
	defer kept.mu.Unlock()
	all := leftovers(kept.of[of])
	delete(kept.of, of)
	return &all
}

// take returns a trace that does the same as t, nil if there is none.
func (l *leftovers) take(t task) *running {
	i := slices.IndexFunc(*l, func(r *running) bool { return sameTrace(r.task.of(), t.of()) })
	if i < 0 {
		return nil
	}
	r := (*l)[i]
	*l = slices.Delete(*l, i, i+1)
	return r
}

// close ends the rest.
func (l *leftovers) close() { closeAll(*l) }

// sameTrace compares all that the configuration says.
func sameTrace(a, b *Trace) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && string(x) == string(y)
}
