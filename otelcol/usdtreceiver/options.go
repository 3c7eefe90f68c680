package usdtreceiver

import (
	"cmp"
	"runtime"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/prototype"
)

// latencyOptions returns what the kernel adds up of the time between two probes.
func (t *Trace) latencyOptions() *attach.LatencyOptions {
	m := t.Metrics
	o := &attach.LatencyOptions{Key: m.Key, By: m.By, Scale: m.Scale, MaxPending: cmp.Or(m.MaxPending, defaultPending()), RingSize: t.ringSize()}
	if len(m.By) > 0 { // else there is one group
		o.MaxGroups = cmp.Or(m.MaxGroups, defaultMaxGroups)
	}
	return o
}

// aggregation returns what the kernel adds up of events for metrics. Groups are by probe first, and by
// process if that is a resource.
func (t *Trace) aggregation() attach.Aggregation {
	m := t.Metrics
	what := attach.Count()
	for i, name := range m.shows() {
		if one := shown[name](m.Value); i == 0 {
			what = one
		} else {
			what = what.And(one)
		}
	}
	if m.Scale > 0 {
		what = what.Scale(m.Scale)
	}
	by := []string{"probe"}
	if m.Process {
		by = append(by, "pid")
	}
	return what.By(append(by, m.By...)...).MaxGroups(cmp.Or(m.MaxGroups, defaultMaxGroups)).RingSize(t.ringSize())
}

// copied is the size of the buffer for copies of stacks, 16 KiB each.
const copied = 8 << 20

// stacks returns what the kernel adds up of events for profiles.
func (t *Trace) stacks() attach.Aggregation {
	p := t.Profiles
	what := attach.Count()
	if p.Value != "" {
		what = what.And(attach.Sum(p.Value))
	}
	what = what.By(append([]string{"probe", "pid", "stack"}, p.By...)...).MaxGroups(cmp.Or(p.MaxGroups, defaultMaxGroups))
	if p.Unwind {
		what = what.RingSize(copied)
	}
	return what
}

// profiled returns the options for profiles.
func (t *Trace) profiled() *attach.Options {
	o := t.options()
	o.Stack, o.Unwind = cmp.Or(t.Profiles.MaxFrames, defaultFrames), t.Profiles.Unwind
	return o
}

// suspension returns how long the trace is detached if it exceeds its budget.
func (t *Trace) suspension() time.Duration { return cmp.Or(t.Suspension, retry) }

// rescan is how often a trace looks for probes that the kernel's reports on new mappings miss: a
// process may get the name of its target later. Each look reads what all processes have mapped.
const rescan = 30 * time.Second

// options returns what is attached to, and how. Probes may appear later.
func (t *Trace) options() *attach.Options {
	p := t.Target
	return &attach.Options{
		Target: attach.Target{PIDs: p.PIDs, Children: p.Children, Comm: p.Comm, Exe: p.Exe, Cgroup: p.Cgroup, Container: p.Container, Pod: p.Pod},
		Where:  t.Where, Rescan: rescan, Await: true, Prototypes: prototype.Known(),
	}
}

// eventOptions returns what single events have.
func (t *Trace) eventOptions() *attach.EventOptions {
	o := &attach.EventOptions{RingSize: t.ringSize()}
	if t.Logs != nil && t.Logs.Snapshot != nil {
		o.On = t.Logs.Snapshot.On
	}
	return o
}

// pairOptions returns how pairs are matched.
func (t *Trace) pairOptions() *attach.PairOptions {
	s := t.Spans
	return &attach.PairOptions{Key: s.Key, Slower: s.Slower, MaxPending: cmp.Or(s.MaxPending, defaultPending()), RingSize: t.ringSize()}
}

// defaultPending returns how many starts wait at most: what a machine has in flight, and many times what
// the kernel gives each processor of such a map (kernel/bpf/bpf_lru_list.c, LOCAL_FREE_TARGET).
func defaultPending() int { return max(4096, 256*runtime.NumCPU()) }

// ringSize returns the size of the kernel's buffer: for as many bytes as the events of a second may be,
// within bounds. Its pages are the largest part of a trace's memory.
func (t *Trace) ringSize() int {
	const of, least, most = 512, 512 << 10, 4 << 20 // of a record with its strings
	return min(max(cmp.Or(t.MaxEventsPerSecond, defaultMaxEvents)*of, least), most)
}
