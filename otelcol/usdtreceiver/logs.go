package usdtreceiver

import (
	"context"
	"time"

	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
)

// logsTask makes a log record of each event.
type logsTask struct {
	trace *Trace
}

func (t *logsTask) of() *Trace { return t.trace }

func (t *logsTask) signal() string { return "logs" }

// Events are handed on when so many have come, or after so long.
const (
	batchSize = 512
	batchTime = 200 * time.Millisecond
)

// logged is an event that becomes a record.
type logged struct {
	event.Event
	snapshot string // which one it belongs to; empty for none
	on       bool   // it fulfils the condition
	skipped  uint64 // since the last snapshot
}

func (t *logsTask) run(ctx context.Context, e *env) error {
	s, err := opening(ctx, e, func() (*attach.Session, error) {
		return attach.OpenEvents(ctx, t.trace.Probes, t.trace.eventOptions(), t.trace.options())
	})
	if err != nil {
		return ended(ctx, err)
	}
	defer e.attached(s)()
	t.trace.Logs.joins().check(e, s)
	b := newBatch(batchSize, func(all []logged) {
		deliver(ctx, e, uint64(len(all)), func(ctx context.Context, next any) error {
			return next.(consumer.Logs).ConsumeLogs(ctx, t.logs(e, all))
		})
	})
	give := t.events
	if t.trace.Logs.Snapshot != nil {
		give = t.snapshots
	}
	failed := give(s, newBudget(e, t.trace), b)
	b.close()
	return ended(ctx, failed, s.Close())
}

// events gives all events.
func (t *logsTask) events(s *attach.Session, within *budget, b *batch[logged]) error {
	for v, err := range s.Views() {
		if err != nil {
			return err
		}
		if !within.pass(time.Now()) {
			continue
		}
		ev, err := v.Event()
		if err != nil {
			return err
		}
		within.spend(sizeOf(ev.Args))
		b.add(logged{Event: ev})
	}
	return nil
}

// snapshots gives the events around ones that fulfil the condition.
func (t *logsTask) snapshots(s *attach.Session, within *budget, b *batch[logged]) error {
	o := t.trace.Logs.Snapshot
	for one, err := range s.Snapshots(attach.SnapshotOptions{On: o.On, Before: o.Before, After: o.After, Wait: o.Wait, Every: o.Every}) {
		if err != nil {
			return err
		}
		id := random[pcommon.SpanID]().String()
		for i, ev := range one.Events {
			if !within.pass(time.Now()) {
				continue
			}
			within.spend(sizeOf(ev.Args))
			l := logged{Event: ev, snapshot: id, on: i == one.On}
			if l.on {
				l.skipped = one.Skipped
			}
			b.add(l)
		}
	}
	return nil
}

// logs returns records of events, which share a resource by process and a scope by provider.
func (t *logsTask) logs(e *env, all []logged) plog.Logs {
	out := plog.NewLogs()
	type key struct {
		pid      int
		provider string
	}
	of := map[int]plog.ResourceLogs{}
	scopes := map[key]plog.ScopeLogs{}
	now := pcommon.NewTimestampFromTime(time.Now())
	for i := range all {
		ev := &all[i]
		r, ok := of[ev.PID]
		if !ok {
			r = out.ResourceLogs().AppendEmpty()
			e.resources.process(r.Resource(), ev.PID)
			of[ev.PID] = r
		}
		scope, ok := scopes[key{ev.PID, ev.Provider}]
		if !ok {
			scope = r.ScopeLogs().AppendEmpty()
			scope.Scope().SetName(utf8(ev.Provider))
			scopes[key{ev.PID, ev.Provider}] = scope
		}
		l := scope.LogRecords().AppendEmpty()
		l.SetTimestamp(pcommon.NewTimestampFromTime(ev.Time))
		l.SetObservedTimestamp(now)
		l.SetEventName(t.trace.called(ev.Provider, ev.Name))
		put(l.Attributes(), ev.Args)
		l.Attributes().PutInt("thread.id", int64(ev.TID))
		l.Attributes().PutStr("thread.name", utf8(ev.Comm))
		if ev.snapshot != "" {
			l.Attributes().PutStr("usdt.snapshot", ev.snapshot)
		}
		if ev.on {
			l.Attributes().PutBool("usdt.snapshot.on", true)
			l.Attributes().PutInt("usdt.snapshot.skipped", int64(ev.skipped))
		}
		if trace, span, ok := t.trace.Logs.joins().in(ev.Args); ok {
			l.SetTraceID(trace)
			l.SetSpanID(span)
		}
	}
	return out
}

// called returns the name of what a probe makes.
func (t *Trace) called(provider, name string) string {
	if t.Name != "" {
		return t.Name
	}
	return utf8(provider + "." + name)
}
