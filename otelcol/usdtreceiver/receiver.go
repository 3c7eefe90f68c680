package usdtreceiver

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/receiver"
	"go.uber.org/zap"
)

// usdtReceiver runs the traces of one signal, each by itself.
type usdtReceiver struct {
	set       receiver.Settings
	telemetry *telemetry
	tasks     []task
	cancel    context.CancelFunc
	running   sync.WaitGroup
}

// task is what is done for one trace, from when it attaches until ctx is done or it fails.
type task interface {
	run(ctx context.Context, e *env) error
	of() *Trace
	signal() string
}

// env is what a task has of its receiver.
type env struct {
	resources *resources
	counts    *counts
	log       *zap.Logger
}

func newReceiver(set receiver.Settings, cfg *Config, taskOf func(*Trace) task) (*usdtReceiver, error) {
	r := &usdtReceiver{set: set}
	for i := range cfg.Traces {
		if t := taskOf(&cfg.Traces[i]); t != nil {
			r.tasks = append(r.tasks, t)
		}
	}
	return r, nil
}

// retry is how long a trace that has failed waits.
const retry = 30 * time.Second

func (r *usdtReceiver) Start(context.Context, component.Host) (err error) {
	if r.telemetry, err = newTelemetry(r.set.TelemetrySettings); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	for _, t := range r.tasks {
		e := &env{resources: newResources(), counts: r.telemetry.trace(t.of().title(), t.signal()), log: r.set.Logger.With(zap.String("trace", t.of().title()))}
		r.running.Go(func() {
			for ctx.Err() == nil {
				if err := t.run(ctx, e); err != nil && ctx.Err() == nil {
					e.log.Error("This trace failed, and is tried again later. Others go on.", zap.Error(err), zap.Duration("in", retry))
				}
				select {
				case <-ctx.Done():
				case <-time.After(retry):
				}
			}
		})
	}
	return nil
}

func (r *usdtReceiver) Shutdown(context.Context) error {
	if r.cancel == nil {
		return nil
	}
	r.cancel()
	r.running.Wait()
	return r.telemetry.Close()
}

// title is what telemetry calls a trace.
func (t *Trace) title() string {
	switch {
	case t.Name != "":
		return t.Name
	case len(t.Probes) > 0:
		return strings.Join(t.Probes, ",")
	case t.Spans != nil:
		return t.Spans.Start
	}
	return t.Metrics.Start
}

// deliver hands data on. An error that is not permanent, as of a full queue, is waited for; meanwhile
// the kernel's buffer fills, and what it drops is counted as lost.
func deliver(ctx context.Context, e *env, n int, consume func(context.Context) error) {
	// Events that were read before the end are still delivered.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := consume(ctx)
	for wait := 10 * time.Millisecond; err != nil && !consumererror.IsPermanent(err) && ctx.Err() == nil; wait = min(2*wait, time.Second) {
		select {
		case <-ctx.Done():
		case <-time.After(wait):
			err = consume(ctx)
		}
	}
	if err != nil {
		e.counts.refused.Add(uint64(n))
		e.log.Warn("The pipeline refused data.", zap.Error(err), zap.Int("items", n))
	}
}

// budget lets so many events of a second pass.
type budget struct {
	most, left int
	since      time.Time
	over       bool
	e          *env
}

func newBudget(e *env, most int) *budget {
	return &budget{most: cmp.Or(most, defaultMaxEvents), e: e}
}

// pass reports whether one more event is within the budget, and counts it if not.
func (b *budget) pass(now time.Time) bool {
	if now.Sub(b.since) >= time.Second {
		if b.over && b.left > 0 {
			b.over = false
			b.e.log.Info("Events are within the budget again.")
		}
		b.since, b.left = now, b.most
	}
	if b.left > 0 {
		b.left--
		return true
	}
	b.e.counts.overBudget.Add(1)
	if !b.over {
		b.over = true
		b.e.log.Warn("Events exceed max_events_per_second; only so many are delivered.", zap.Int("max_events_per_second", b.most))
	}
	return false
}

// ended returns the error of a task, none if it has only been told to end.
func ended(ctx context.Context, errs ...error) error {
	if ctx.Err() != nil {
		return nil
	}
	return errors.Join(errs...)
}
