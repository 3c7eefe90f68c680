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
	w.joins().check(e, p)
	within := newBudget(e, t.trace)
	var failed error
	b := t.trace.newSpanBatch(ctx, e)
	for pair, err := range p.All() {
		if err != nil {
			failed = err
			break
		}
		if within.pass(time.Now()) {
			within.spend(sizeOf(pair.Start.Args) + sizeOf(pair.End.Args))
			b.add(t.trace.spanOf(pair))
		}
	}
	b.close()
	return ended(ctx, failed, p.Close())
}

// span is a pair with its place in a trace.
type span struct {
	attach.Pair
	trace      pcommon.TraceID
	id, parent pcommon.SpanID
	joined     bool // arguments name the trace
}

// spanOf returns the span of a pair: a child of what arguments name as the parent, otherwise the first
// of a trace.
func (t *Trace) spanOf(p attach.Pair) *span {
	s := &span{Pair: p, id: random[pcommon.SpanID]()}
	if s.trace, s.parent, s.joined = t.Spans.joins().in(p.Start.Args, p.End.Args); !s.joined {
		s.trace, s.parent = random[pcommon.TraceID](), pcommon.SpanID{}
	}
	return s
}

// spanBatch collects spans, which may wait for the ones around them first.
type spanBatch struct {
	*batch[*span]
	nest *nest // nil for none
}

func (t *Trace) newSpanBatch(ctx context.Context, e *env) *spanBatch {
	b := &spanBatch{batch: newBatch(batchSize, func(all []*span) {
		deliver(ctx, e, uint64(len(all)), func(ctx context.Context, next any) error {
			return next.(consumer.Traces).ConsumeTraces(ctx, t.spans(e, all))
		})
	})}
	if t.Spans.Nest > 0 {
		b.nest = newNest(t.Spans.Nest, b.batch.add)
	}
	return b
}

func (b *spanBatch) add(s *span) {
	if b.nest == nil || !b.nest.add(s) {
		b.batch.add(s)
	}
}

// close hands on what is left.
func (b *spanBatch) close() {
	if b.nest != nil {
		b.nest.close()
	}
	b.batch.close()
}

// spans returns spans as the pipeline has them.
func (t *Trace) spans(e *env, all []*span) ptrace.Traces {
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
		s.SetName(t.called(start.Provider, start.Name))
		s.SetKind(ptrace.SpanKindInternal)
		s.SetStartTimestamp(pcommon.NewTimestampFromTime(start.Time))
		s.SetEndTimestamp(pcommon.NewTimestampFromTime(end.Time))
		put(s.Attributes(), start.Args)
		put(s.Attributes(), end.Args)
		s.Attributes().PutInt("thread.id", int64(start.TID))
		s.Attributes().PutStr("thread.name", utf8(start.Comm))
		s.SetTraceID(all[i].trace)
		s.SetSpanID(all[i].id)
		s.SetParentSpanID(all[i].parent)
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
