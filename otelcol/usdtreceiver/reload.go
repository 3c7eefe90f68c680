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

// leftovers are traces of a receiver that was shut down. The receiver that follows may take them.
type leftovers []*running

// kept are leftovers by receiver. The collector makes new factories for a new configuration, so nothing
// but the process has them.
var kept struct {
	mu sync.Mutex
	of map[string]*leftovers
}

// keep keeps traces for the receiver that follows.
func keep(of string, all []*running) {
	if len(all) == 0 {
		return
	}
	kept.mu.Lock()
	defer kept.mu.Unlock()
	if kept.of == nil {
		kept.of = map[string]*leftovers{}
	}
	l := new(leftovers)
	if earlier := kept.of[of]; earlier != nil {
		*l = *earlier
	}
	*l = append(*l, all...)
	kept.of[of] = l
	time.AfterFunc(keeping, func() { l.expire(of) })
}

// expire ends the traces if nobody has taken them or has kept others beside them, for longer.
func (l *leftovers) expire(of string) {
	kept.mu.Lock()
	still := kept.of[of] == l
	if still {
		delete(kept.of, of)
	}
	kept.mu.Unlock()
	if still {
		l.close()
	}
}

// takeKept takes the traces that are kept for a receiver.
func takeKept(of string) *leftovers {
	kept.mu.Lock()
	defer kept.mu.Unlock()
	l := kept.of[of]
	delete(kept.of, of)
	if l == nil {
		return new(leftovers)
	}
	return l
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
