package usdtreceiver

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/receiver"
	"go.uber.org/zap"
)

// usdtReceiver runs the traces of one signal, each by itself.
type usdtReceiver struct {
	set       receiver.Settings
	cfg       *Config
	telemetry *telemetry
	next      any // the consumer
	tasks     []task
	running   []*running
	reload    *reload
	total     *allowance
}

// task is what is done for one trace, from when it attaches until ctx is done or it fails.
type task interface {
	run(ctx context.Context, e *env) error
	of() *Trace
	signal() string
}

func newReceiver(set receiver.Settings, cfg *Config, signal string, next any, taskOf func(*Trace) task) (*usdtReceiver, error) {
	cfg.made.Store(signal, true)
	r := &usdtReceiver{set: set, cfg: cfg, next: next, total: cfg.allowance()}
	for i := range cfg.Traces {
		if t := taskOf(&cfg.Traces[i]); t != nil {
			r.tasks = append(r.tasks, t)
		}
	}
	return r, nil
}

func (r *usdtReceiver) Start(context.Context, component.Host) (err error) {
	if r.telemetry, err = newTelemetry(r.set.TelemetrySettings); err != nil {
		return err
	}
	r.cfg.warn(r.set.Logger)
	r.reload = newReload()
	kept := takeKept(r.keepers())
	for _, t := range r.tasks {
		to := &outlet{next: r.next, log: r.set.Logger.With(zap.String("trace", t.of().title())), total: r.total}
		one := kept.take(t)
		if one == nil {
			one = newRunning(t)
		}
		r.telemetry.add(one.env.counts)
		one.env.connect(to)
		one.begin()
		r.running = append(r.running, one)
	}
	kept.close()
	return nil
}

// Shutdown ends all traces. If the collector only reloads its configuration, they stay attached for a
// while, and go on if the new configuration has them as well.
func (r *usdtReceiver) Shutdown(context.Context) error {
	if r.telemetry == nil {
		return nil
	}
	if r.reload.close() {
		for _, one := range r.running {
			one.env.disconnect()
		}
		keep(r.keepers(), r.running)
	} else {
		closeAll(r.running)
	}
	r.running = nil
	r.telemetry.builder.Shutdown()
	return nil
}

// keepers identifies the receiver among the receivers of one collector.
func (r *usdtReceiver) keepers() string {
	if len(r.tasks) == 0 {
		return ""
	}
	return r.set.ID.String() + " " + r.tasks[0].signal()
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

// deliver hands data on, in which so many events are lost if it is refused. An error that is not permanent,
// as of a full queue, is waited for; meanwhile the kernel's buffer fills, and what it drops is counted as
// lost. Once a trace has been told to end, it does not wait again: there may be much to hand on.
func deliver(ctx context.Context, e *env, events uint64, consume func(ctx context.Context, next any) error) (done bool) {
	if e.hopeless.Load() {
		e.counts.refused.Add(events)
		return false
	}
	err := e.consume(ctx, consume)
	deadline := time.Now().Add(patience)
	for wait := 10 * time.Millisecond; err != nil && !consumererror.IsPermanent(err) && time.Now().Before(deadline); wait = min(2*wait, time.Second) {
		time.Sleep(min(wait, time.Until(deadline)))
		err = e.consume(ctx, consume)
	}
	if err == nil {
		return true
	}
	e.hopeless.Store(ctx.Err() != nil && !consumererror.IsPermanent(err))
	e.counts.refused.Add(events)
	e.log().Warn("The pipeline refused data.", zap.Error(err), zap.Uint64("events", events))
	return false
}

// patience is how long a pipeline may refuse data.
const patience = 5 * time.Second

// ended returns the error of a task, none if it has only been told to end.
func ended(ctx context.Context, errs ...error) error {
	if ctx.Err() != nil {
		return nil
	}
	return errors.Join(errs...)
}
