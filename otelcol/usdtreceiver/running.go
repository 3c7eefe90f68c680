package usdtreceiver

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.uber.org/zap"

	"github.com/go-usdt/usdt/attach"
)

// running is a task that runs, again and again if it fails or exceeds its budget.
type running struct {
	task   task
	env    *env
	once   sync.Once
	cancel context.CancelFunc
	done   chan struct{}
}

func newRunning(t task) *running {
	e := &env{trace: t.of(), resources: newResources(), counts: newCounts(t.of(), t.signal()), own: newAllowance(t.of().MaxCPUPercent)}
	return &running{task: t, env: e, done: make(chan struct{})}
}

// retry is how long a trace that has failed waits.
const retry = 30 * time.Second

// begin begins to run, unless it does already.
func (r *running) begin() {
	r.once.Do(func() {
		ctx, cancel := context.WithCancel(context.Background())
		r.cancel = cancel
		go func() {
			defer close(r.done)
			for ctx.Err() == nil {
				r.session(ctx)
			}
		}()
	})
}

// session attaches, and returns when the task may be tried again.
func (r *running) session(ctx context.Context) {
	e := r.env
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	e.counts.setState(stateAll)
	e.hopeless.Store(false)
	e.stop, e.whole = cancel, ctx
	err := r.task.run(inner, e)
	wait := retry
	var over *overBudget
	switch {
	case ctx.Err() != nil:
		return
	case errors.As(context.Cause(inner), &over):
		wait = r.task.of().suspension()
		e.counts.setState(stateSuspended)
		e.log().Warn("This trace exceeds its budget, and is suspended.", zap.Error(over), zap.Duration("for", wait))
		defer func() { e.log().Info("This trace is resumed.") }()
	case err != nil:
		e.counts.setState(stateFailed)
		e.log().Error("This trace failed, and is tried again later. Others go on.", zap.Error(err), zap.Duration("in", wait))
	default:
		e.log().Info("The processes of this trace have ended. They are looked for again later.", zap.Duration("in", wait))
	}
	for began := time.Now(); ; wait = checked {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		// The average is to be what is allowed, except of a trace that could then never be tried again.
		if now := time.Now(); over == nil || now.Sub(began) > longestDebt*r.task.of().suspension() || !e.own.indebted(now) && !e.total.Load().indebted(now) {
			return
		}
	}
}

// longestDebt is how many times as long as a suspension one may be that processor time is the reason for.
const longestDebt = 20

// closeAll ends tasks, and returns when they have handed on what they had.
func closeAll(all []*running) {
	for _, r := range all {
		r.cancel()
	}
	for _, r := range all {
		<-r.done
	}
}

// env is what a task has of its receiver, which may be another after a reload.
type env struct {
	trace     *Trace
	resources *resources
	counts    *counts
	own       *allowance                // of processor time
	total     atomic.Pointer[allowance] // of all traces of the receiver
	stop      context.CancelCauseFunc   // of the session
	whole     context.Context           // of all sessions
	opened    atomic.Int64              // nanoseconds of processor time that opening it took
	hopeless  atomic.Bool               // the session is to end, and the pipeline refuses what it has

	mu   sync.RWMutex // held while to is in use
	to   *outlet
	last *zap.Logger
}

// outlet is where data goes.
type outlet struct {
	next  any // a consumer
	log   *zap.Logger
	total *allowance
}

func (e *env) connect(to *outlet) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.to, e.last = to, to.log
	e.total.Store(to.total)
}

// disconnect returns when nothing uses the outlet any longer.
func (e *env) disconnect() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.to = nil
}

func (e *env) log() *zap.Logger {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.last
}

// errReloads is permanent: the task has ended.
var errReloads = consumererror.NewPermanent(errors.New("the collector was reloading its configuration"))

// consume hands on once, also what was read before the end. While there is no outlet it waits for one, also if the
// session has been suspended meanwhile.
func (e *env) consume(ctx context.Context, consume func(ctx context.Context, next any) error) error {
	for {
		if done, err := e.consumeOnce(ctx, consume); done || e.whole.Err() != nil {
			return err
		}
		select {
		case <-e.whole.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (e *env) consumeOnce(ctx context.Context, consume func(ctx context.Context, next any) error) (done bool, err error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.to == nil {
		return false, errReloads
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return true, consume(ctx, e.to.next)
}

// attached counts what a session does, and compares it with the budget, until the function that it
// returns is called.
func (e *env) attached(tracer attach.Tracer) (end func()) {
	e.counts.begin(tracer)
	for _, none := range tracer.NoMatch() {
		e.log().Info("This trace waits for what it names.", zap.Error(none))
	}
	remove := shares.add(e, tracer)
	return func() {
		remove()
		e.counts.end()
	}
}
