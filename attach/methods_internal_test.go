package attach

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/numbering"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/attach/internal/source"
)

// Call is the call of a method.
type Call struct {
	Name string
	Do   func()
}

// Methods returns calls of all exported methods of v, Stop and Close at the end. Iterators
// that they return are read until ctx is done; they get a context that has ended, so that
// none waits for the end of tracing.
func Methods(ctx context.Context, v any) (calls []Call) {
	ended, cancel := context.WithCancel(ctx)
	cancel()
	of := reflect.ValueOf(v)
	for i := range of.NumMethod() {
		method := of.Method(i)
		in := make([]reflect.Value, method.Type().NumIn())
		for j := range in {
			in[j] = reflect.Zero(method.Type().In(j))
			if method.Type().In(j) == reflect.TypeFor[context.Context]() {
				in[j] = reflect.ValueOf(ended)
			}
		}
		calls = append(calls, Call{of.Type().Method(i).Name, func() {
			for _, out := range method.Call(in) {
				if out.Kind() == reflect.Func && out.Type().CanSeq2() {
					for range out.Seq2() {
						if ctx.Err() != nil {
							break
						}
					}
				}
			}
		}})
	}
	last := func(c Call) int { return slices.Index([]string{"Stop", "Close"}, c.Name) }
	slices.SortStableFunc(calls, func(a, b Call) int { return cmp.Compare(last(a), last(b)) })
	return calls
}

// reporting is a source that fails in each of its methods, as that of a process which
// contradicts itself may.
type reporting struct {
	source.Source
	report func()
}

func (r reporting) Next(buf []byte) ([]byte, bool, error) { r.report(); return r.Source.Next(buf) }
func (r reporting) Nap()                                  { r.report(); r.Source.Nap() }
func (r reporting) Available() bool                       { r.report(); return r.Source.Available() }
func (r reporting) Stop() error                           { r.report(); return r.Source.Stop() }
func (r reporting) Drain() uint64                         { r.report(); return r.Source.Drain() }
func (r reporting) Counts() (source.Counts, error)        { r.report(); return r.Source.Counts() }
func (r reporting) Close() error                          { r.report(); return r.Source.Close() }

// TestFailAnywhere calls all methods of what traces while each method of its source fails:
// none of the locks that are held then is needed for that.
func TestFailAnywhere(t *testing.T) {
	session, _ := queued(t)
	of, _ := queued(t)
	pairs := &Pairs{stream: stream{clock: of.clock}}
	pairs.attached, pairs.cancel, pairs.source = of.attached, of.cancel, of.source
	pairs.sites.Store(of.sites.Load())
	pairs.layout, pairs.paired = &bind.Layout{Pairs: &bind.PairLayout{Whole: true}}, true
	pairs.tally = newTally(pairs.layout)
	added := func(a *totals, l *bind.Layout) {
		_, q := queued(t)
		a.attached, a.cancel, a.done, a.source = site.Unattached(nil), func() {}, t.Context(), q
		a.sites.Store(&numbering.Table{})
		a.layout, a.tally = l, newTally(l)
	}
	aggregate, latency := &Aggregate{}, &Latency{}
	added(&aggregate.totals, &bind.Layout{})
	added(&latency.totals, &bind.Layout{Pairs: &bind.PairLayout{}})
	for _, test := range []struct {
		traces any
		t      *tracing
	}{
		{session, &session.tracing}, {pairs, &pairs.tracing}, {aggregate, &aggregate.tracing}, {latency, &latency.tracing},
	} {
		test.t.options, test.t.over = &settings{}, true // there is nothing to rescan
		reports := 0
		test.t.source = reporting{test.t.source, func() {
			reports++
			test.t.fail(io.ErrUnexpectedEOF)
		}}
		for _, call := range Methods(t.Context(), test.traces) {
			done := make(chan bool)
			go func() {
				defer close(done)
				call.Do()
			}()
			select {
			case <-done:
			case <-time.After(time.Minute):
				// Cleanup would wait as well.
				go panic(fmt.Sprintf("%s of %T waits for a lock that is held while its source is asked", call.Name, test.traces))
				select {}
			}
		}
		if reports < 4 {
			t.Errorf("the source of %T has failed %d times", test.traces, reports)
		}
	}
}
