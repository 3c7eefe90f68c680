package attach

import (
	"time"
)

// Cost is what the programs of a session took of the CPUs, as the kernel measures it.
// It is the time of the programs alone: the trap into the kernel, and the search for the
// programs of a site, come before.
type Cost struct {
	// Runs is how often programs ran, and Time how long, while the kernel measured.
	Runs uint64
	Time time.Duration
}

// Cost returns the time that programs took until now, or until Close. The kernel
// measures it only while somebody asks for it, by BPF_ENABLE_STATS
// ([ebpf.EnableStats], which needs CAP_SYS_ADMIN) or kernel.bpf_stats_enabled; a
// session does not. Where events come through shared memory or from recordings no
// program runs, and the result is zero.
func (t *tracing) Cost() (Cost, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return t.cost, nil
	}
	runs, err := t.progs.Count()
	return Cost(runs.Cost), err
}
