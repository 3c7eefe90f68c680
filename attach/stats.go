package attach

import (
	"cmp"
	"time"

	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/attach/internal/source"
	"github.com/go-usdt/usdt/attach/internal/tally"
)

// Stats counts the events of a session. While the session is attached the numbers
// are a snapshot; once Events has ended or Close was called, Fired = Received +
// Lost + Filtered + Missed + Unread holds exactly.
type Stats struct {
	Fired    uint64 // by all attached sites
	Received uint64 // delivered by Events, or counted in the groups that Read returned
	Lost     uint64 // dropped: the ring buffer was full, an argument to aggregate could not be read, or a recording is damaged
	Filtered uint64 // did not pass Options.Where
	Missed   uint64 // not seen by a program, since the kernel did not run it: it, or another probe, was running on that CPU
	Unread   uint64 // recorded, but not received before Close

	Unmatched uint64 // part of Filtered: starts and ends of a latency without a partner
	Full      uint64 // part of Lost: the ring buffer, or the memory that a process shares, was full
	Contended uint64 // part of Lost: goroutines were writing to all shards of that memory

	// Ended and Untold are about stacks, not events. Ended counts the processes that had ended
	// when a stack of theirs was named; a process counts again if thousands of others came before
	// its next stack. Their names come from the kernel's reports on processes. Untold counts the
	// reports, on any process, that the kernel dropped because a buffer was full: stacks of ended
	// processes may then lack names or have wrong ones. Processes that live are looked at again.
	Ended  uint64
	Untold uint64

	// Silent counts processes that went on before their semaphores were raised, where the
	// kernel does not do that (reader.ErrMiscounted): they may have left out events at first.
	Silent uint64

	// Found counts the sites that were found until now, also sites that have been left.
	Found uint64

	// Late counts the sites that were attached to after processes had them already, so that
	// they may have fired unseen, and Lateness is the longest such time; see [Site.Late].
	Late     uint64
	Lateness time.Duration
}

// Stats returns the numbers of events until now.
func (t *tracing) Stats() (Stats, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.countLocked()
}

func (t *tracing) countLocked() (Stats, error) {
	if t.closed {
		return t.final, nil
	}
	// Read Received first: received events have fired before, so the result never
	// shows more received than fired.
	received := t.received.Load()
	t.pairs = PairStats{}
	var c source.Counts
	var err error
	switch {
	case t.source != nil:
		c, err = t.source.Counts()
	case t.programs != nil:
		c, err = t.programs.Counts()
	}
	if t.tally != nil {
		t.countTally(&c)
	}
	st := Stats{
		Fired: c.Fired, Received: c.Received + received, Lost: c.Lost, Filtered: c.Filtered, Missed: c.Missed, Unread: t.unread.Load(),
		Unmatched: c.Unmatched, Full: c.Full, Contended: c.Contended,
	}
	if t.code != nil {
		st.Ended, st.Untold = t.code.Ended(), t.code.Untold()
	}
	if t.attached != nil {
		st.Silent, st.Found = t.attached.Silent(), uint64(t.attached.LookAt(0, func(site.Plan) {}))
	}
	st.Late, st.Lateness = t.late, t.lateness
	return st, err
}

// rest returns how many events have fired of which nothing else is known.
func (st *Stats) rest() uint64 {
	return st.Fired - min(st.Fired, st.Received+st.Lost+st.Filtered+st.Missed+st.Unread)
}

// Add adds the numbers of another session.
func (st *Stats) Add(more Stats) {
	st.Fired += more.Fired
	st.Received += more.Received
	st.Lost += more.Lost
	st.Filtered += more.Filtered
	st.Missed += more.Missed
	st.Unread += more.Unread
	st.Unmatched += more.Unmatched
	st.Full += more.Full
	st.Contended += more.Contended
	st.Ended += more.Ended
	st.Untold += more.Untold
	st.Silent += more.Silent
	st.Found += more.Found
	st.Late += more.Late
	st.Lateness = max(st.Lateness, more.Lateness)
}

// add adds the numbers of another source.
func (p *PairStats) add(more *PairStats) {
	p.Pairs += more.Pairs
	p.Dropped += more.Dropped
	p.Pending += more.Pending
	p.TooDeep += more.TooDeep
	p.Replaced += more.Replaced
	p.Evicted += more.Evicted
	p.Unstarted += more.Unstarted
	p.Fast += more.Fast
	p.Torn += more.Torn
}

// pairStats are what became of starts and ends, as whoever matched them counts.
func pairStats(c *tally.Counts) *PairStats {
	return &PairStats{Pairs: c.Matched, Dropped: c.Dropped, Pending: c.Pending, TooDeep: c.TooDeep, Replaced: c.Replaced, Evicted: c.Evicted, Unstarted: c.Unstarted, Fast: c.Fast, Torn: c.Torn}
}

// addPairs adds the events of starts and ends. The events of ends that passed are
// counted when their groups are read, the events of dropped ends by whoever dropped them. Both events of
// a pair that is recorded are counted when it is read.
func (t *tracing) addPairs(st *source.Counts, p *PairStats) {
	t.pairs.add(p)
	if t.layout.Whole() {
		st.Filtered += 2 * p.Fast
	} else {
		st.Received += p.Pairs
	}
	st.Lost += p.Evicted + p.TooDeep
	st.Filtered += p.Dropped + p.Torn + p.Pending + p.Unstarted + p.Replaced
	st.Unmatched += p.Torn + p.Pending + p.Unstarted + p.Replaced
}

// finishLocked fixes the statistics before maps and programs are released.
func (t *tracing) finishLocked() error {
	st, err := t.countLocked()
	cost, costErr := t.countCost()
	t.final, t.cost, t.faults, t.closed = st, cost, t.countFaults(), true
	return cmp.Or(err, costErr)
}

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
	return t.countCost()
}

func (t *tracing) countCost() (Cost, error) {
	if t.programs == nil {
		return Cost{}, nil
	}
	runs, err := t.programs.loaded.Count()
	return Cost(runs.Cost), err
}
