package usdtreceiver

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cilium/ebpf"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/traps"
)

// checked is how often shares are computed.
const checked = time.Second

// watcher compares what the sessions of all receivers take of their targets' processor time with what
// they may take. There is one, since kernel and targets are measured for all at once.
type watcher struct {
	mu       sync.Mutex
	sessions map[*env]*share
	added    chan struct{}      // to the goroutine, which runs while there are sessions
	stop     context.CancelFunc // of the goroutine
	done     chan struct{}
}

var shares = watcher{sessions: map[*env]*share{}, added: make(chan struct{}, 1)}

// share is what one session takes.
type share struct {
	e       *env
	stop    context.CancelCauseFunc // of the session: e may have the next one by then
	tracer  attach.Tracer
	begun   bool                    // whether the following are known
	places  map[place]time.Duration // what one trap takes at each
	rounds  int
	percent float64 // of the last round

	mu     sync.Mutex // of what follows
	before attach.Cost
	trap   time.Duration // its part of the dearest, see divide
	rate   float64       // processors that the target used in the last round
}

// add begins to watch a session, until the function that it returns is called.
func (w *watcher) add(e *env, tracer attach.Tracer) (remove func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sessions[e] = &share{e: e, stop: e.stop, tracer: tracer}
	if w.stop == nil {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		w.stop, w.done = cancel, done
		go func() {
			defer close(done)
			w.watch(ctx)
		}()
	}
	select {
	case w.added <- struct{}{}:
	default: // it has yet to see others
	}
	return func() { w.remove(e) }
}

func (w *watcher) remove(e *env) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sessions[e].end(time.Now())
	delete(w.sessions, e)
	e.counts.setShare(0)
	if len(w.sessions) == 0 {
		w.stop()
		done := w.done
		w.stop, w.done = nil, nil
		w.mu.Unlock()
		<-done // which may want the lock
		w.mu.Lock()
	}
}

// bounded returns the sessions that have a budget of processor time.
func (w *watcher) bounded() (out []*share) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for e, s := range w.sessions {
		if e.trace.MaxCPUPercent > 0 || e.total.Load().percent > 0 {
			out = append(out, s)
		}
	}
	return out
}

// watch computes shares until ctx is done.
func (w *watcher) watch(ctx context.Context) {
	m := measuring{targets: map[string]*processorTime{}}
	defer m.close()
	tick := time.NewTicker(checked)
	defer tick.Stop()
	for {
		round := false
		select {
		case <-ctx.Done():
			return
		case <-w.added:
		case <-tick.C:
			round = true
		}
		all := w.bounded()
		if err := m.measure(len(all) > 0); err != nil {
			for _, s := range all {
				s.stop(&overBudget{fmt.Sprintf("max_cpu_percent: the kernel does not measure programs: set kernel.bpf_stats_enabled, or give CAP_SYS_ADMIN: %v", err)})
			}
			continue
		}
		if round {
			m.round(ctx, all)
		}
		for _, s := range all {
			m.begin(ctx, s)
		}
	}
}

// measuring is what the shares of a process are measured with.
type measuring struct {
	programs io.Closer // while the kernel measures
	sites    *traps.Traps
	targets  map[string]*processorTime
}

// measure has the kernel measure programs, or ends that.
func (m *measuring) measure(wanted bool) error {
	if !wanted {
		m.close()
		return nil
	}
	if m.programs != nil {
		return nil
	}
	enabled, _ := os.ReadFile("/proc/sys/kernel/bpf_stats_enabled") // without it there is the other way
	if strings.TrimSpace(string(enabled)) == "1" {
		m.programs = io.NopCloser(nil)
		return nil
	}
	programs, err := ebpf.EnableStats(unix.BPF_STATS_RUN_TIME)
	if err == nil {
		m.programs = programs
	}
	return err
}

func (m *measuring) close() {
	if m.programs != nil {
		m.programs.Close()
	}
	if m.sites != nil {
		m.sites.Close()
	}
	m.programs, m.sites = nil, nil
}

// begin begins with a session that is new.
func (m *measuring) begin(ctx context.Context, s *share) {
	if s.begun {
		return
	}
	if key := s.target(); m.targets[key] == nil {
		m.targets[key] = newProcessorTime(&s.e.trace.Target)
	}
	m.measureTraps(ctx, s)
	s.begun = true
}

// target tells targets apart.
func (s *share) target() string { return fmt.Sprintf("%+v", s.e.trace.Target) }

// round computes the shares of all sessions, and suspends a session that takes too much.
func (m *measuring) round(ctx context.Context, all []*share) {
	inUse := map[string]*processorTime{}
	receivers := map[*allowance][]*share{}
	now := time.Now()
	for _, s := range all {
		const often = 10 // rounds after which sites may be others
		if s.rounds++; s.begun && s.rounds%often == 0 {
			m.measureTraps(ctx, s)
		}
	}
	divide(all)
	for _, s := range all {
		key := s.target()
		target := m.targets[key]
		if !s.begun || target == nil {
			continue
		}
		if inUse[key] == nil {
			target.measure(now)
			inUse[key] = target
		}
		if !s.share(target) {
			continue
		}
		used := s.percent * target.between.Seconds()
		total := s.e.total.Load()
		total.spend(now, used)
		if s.e.own.spend(now, used) {
			s.suspend("max_cpu_percent")
			continue
		}
		receivers[total] = append(receivers[total], s)
	}
	m.targets = inUse
	for total, all := range receivers {
		if !total.indebted(now) {
			continue
		}
		slices.SortFunc(all, func(a, b *share) int { return cmp.Compare(a.percent, b.percent) })
		sum := 0.0
		for _, s := range all { // the cheap ones go on
			if sum += s.percent; sum > total.percent {
				s.suspend("the max_cpu_percent of all traces")
			}
		}
	}
}

// share computes the share of a session that has not ended.
func (s *share) share(target *processorTime) bool {
	took, err := s.took()
	if err != nil {
		return false
	}
	used := max(target.used, tickOfClock)
	s.percent = 100 * float64(took) / float64(used)
	s.mu.Lock()
	s.rate = used.Seconds() / target.between.Seconds()
	s.mu.Unlock()
	s.e.counts.setShare(s.percent / 100)
	return true
}

// took returns what the session has taken since the last call.
func (s *share) took() (time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	cost, err := s.tracer.Cost()
	if err != nil {
		return 0, err
	}
	took := cost.Time - s.before.Time + time.Duration(cost.Runs-s.before.Runs)*s.trap
	s.before = cost
	return took, nil
}

// end charges a session that has been closed with what it took since the last round, and with what it took
// to open it, which the next one takes as well. Sessions that go on are not charged with that: to
// suspend them saves none of it.
func (s *share) end(now time.Time) {
	took, err := s.took()
	s.mu.Lock()
	rate := s.rate
	s.mu.Unlock()
	if err != nil || rate == 0 {
		return
	}
	used := 100 * (took + time.Duration(s.e.opened.Load())).Seconds() / rate
	s.e.own.spend(now, used)
	s.e.total.Load().spend(now, used)
}

// suspend ends the session.
func (s *share) suspend(what string) {
	s.stop(&overBudget{fmt.Sprintf("%.3g%% of the target's processor time, traps of %v included, are more than %s", s.percent, s.trap, what)})
}

// after is how many times as long as a trap what runs behind it may take longer than without: it finds
// other contents in the processor's caches and predictors. PostgreSQL's statements take 0.7 times as long,
// loops from 0 to 2 times.
const after = 1

// place is where processes trap into the kernel.
type place struct {
	target  string // another one's processes may be others
	path    string
	offset  uint64
	returns bool
}

// measureTraps measures what a trap takes at each place of a session.
func (m *measuring) measureTraps(ctx context.Context, s *share) {
	var err error
	if m.sites == nil {
		m.sites, err = traps.New()
	}
	plan, places, target := s.tracer.Plan(), map[place]time.Duration{}, s.target()
	for i := range plan {
		site := &plan[i]
		if err != nil || !traps.Trapping(site) {
			continue
		}
		at := place{target, site.Path, site.Offset, traps.Returns(site)}
		took, known := s.places[at]
		if !known {
			took, err = m.sites.Site(ctx, site)
		}
		places[at] = took
	}
	if err == nil {
		s.places = places
		return
	}
	if ctx.Err() == nil && s.rounds == 0 {
		s.e.log().Warn("The trap of a probe cannot be measured: max_cpu_percent bounds programs alone.", zap.Error(err))
	}
}

// divide gives each session its part of the dearest trap of its sites. The kernel puts one breakpoint at
// a place for all sessions, so that they share the trap. It runs their programs one after the other.
func divide(all []*share) {
	at := map[place]int{}
	for _, s := range all {
		for p := range s.places {
			at[p]++
		}
	}
	for _, s := range all {
		trap := time.Duration(0)
		for p, took := range s.places {
			trap = max(trap, (1+after)*took/time.Duration(at[p]))
		}
		s.mu.Lock()
		s.trap = trap
		s.mu.Unlock()
	}
}
