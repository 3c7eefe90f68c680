package usdtreceiver

import (
	"context"
	"crypto/rand"
	"time"

	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/go-usdt/usdt/attach"
)

// spansTask makes a span of each pair.
type spansTask struct {
	trace *Trace
}

func (t *spansTask) of() *Trace { return t.trace }

func (t *spansTask) signal() string { return "traces" }

func (t *spansTask) run(ctx context.Context, e *env) error {
	w := t.trace.Spans
	p, err := opening(ctx, e, func() (*attach.Pairs, error) {
		return attach.OpenPairs(ctx, w.Start, w.End, t.trace.pairOptions(), t.trace.options())
	})
	if err != nil {
		return ended(ctx, err)
	}
	defer e.attached(p)()
	within := newBudget(e, t.trace)
	var failed error
	b := newBatch(batchSize, func(all []attach.Pair) {
		deliver(ctx, e, len(all), func(ctx context.Context, next any) error {
			return next.(consumer.Traces).ConsumeTraces(ctx, t.spans(e, all))
		})
	})
	for pair, err := range p.All() {
		if err != nil {
			failed = err
			break
		}
		if within.pass(time.Now()) {
			within.spend(sizeOf(pair.Start.Args) + sizeOf(pair.End.Args))
			b.add(pair)
		}
	}
	b.close()
	return ended(ctx, failed, p.Close())
}

// spans returns a span for each pair.
func (t *spansTask) spans(e *env, all []attach.Pair) ptrace.Traces {
	out := ptrace.NewTraces()
	type key struct {
		pid      int
		provider string
	}
	of := map[int]ptrace.ResourceSpans{}
	scopes := map[key]ptrace.ScopeSpans{}
	for i := range all {
		start, end := &all[i].Start, &all[i].End
		r, ok := of[start.PID]
		if !ok {
			r = out.ResourceSpans().AppendEmpty()
			e.resources.process(r.Resource(), start.PID)
			of[start.PID] = r
		}
		scope, ok := scopes[key{start.PID, start.Provider}]
		if !ok {
			scope = r.ScopeSpans().AppendEmpty()
			scope.Scope().SetName(utf8(start.Provider))
			scopes[key{start.PID, start.Provider}] = scope
		}
		s := scope.Spans().AppendEmpty()
		s.SetName(t.trace.called(start.Provider, start.Name))
		s.SetKind(ptrace.SpanKindInternal)
		s.SetStartTimestamp(pcommon.NewTimestampFromTime(start.Time))
		s.SetEndTimestamp(pcommon.NewTimestampFromTime(end.Time))
		put(s.Attributes(), start.Args)
		put(s.Attributes(), end.Args)
		s.Attributes().PutInt("thread.id", int64(start.TID))
		s.Attributes().PutStr("thread.name", utf8(start.Comm))
		trace, parent, ok := parentIn(t.trace.Spans.Parent, start.Args, end.Args)
		if ok {
			s.SetParentSpanID(parent)
		} else {
			trace = random[pcommon.TraceID]()
		}
		s.SetTraceID(trace)
		s.SetSpanID(random[pcommon.SpanID]())
	}
	return out
}

// random returns an identifier; crypto/rand never fails.
func random[ID pcommon.TraceID | pcommon.SpanID]() (id ID) {
	b := make([]byte, len(id))
	_, _ = rand.Read(b)
	switch to := any(&id).(type) {
	case *pcommon.TraceID:
		copy(to[:], b)
	case *pcommon.SpanID:
		copy(to[:], b)
	}
	return id
}
