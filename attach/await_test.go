package attach_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/provider"
)

// TestAwaitMisfit waits for a probe that has not the argument of a condition or a key. Tracing
// fails when the probe appears, each way, as it does if the probe is there.
func TestAwaitMisfit(t *testing.T) { sharedToo(t, checkAwaitMisfit) }

func checkAwaitMisfit(t *testing.T) {
	options := func(where string) *attach.Options {
		return by(t, &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}, Rescan: time.Hour, Await: true, Where: where})
	}
	p := provider.New("misfit", &provider.Options{Local: true})
	provider.NewProbe1[uint32](p, "tick", "n")
	s, err := attach.Open(t.Context(), []string{"misfit:tick"}, options("nosuch > 1"))
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	defer s.Close()
	a, err := attach.OpenAggregate(t.Context(), []string{"misfit:tick"}, attach.Count().By("nosuch"), options(""))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := errors.Join(s.Rescan(), a.Rescan()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	failed := make(chan error, 1)
	go func() {
		var last error
		for _, err := range s.Events() {
			last = err
		}
		failed <- last
	}()
	select {
	case err := <-failed:
		if where := (*attach.WhereError)(nil); !errors.As(err, &where) {
			t.Errorf("the session ends with %v, want a WhereError", err)
		}
	case <-ctx.Done():
		t.Fatal("the session is silent")
	}
	if _, err := a.Read(); err == nil {
		t.Error("the aggregate can be read")
	}
}

// TestAwaitImpossible asks of probes that have yet to appear what these turn out to lack: each kind of
// session fails when they are there, as it does if they are there before.
func TestAwaitImpossible(t *testing.T) { sharedToo(t, checkAwaitImpossible) }

func checkAwaitImpossible(t *testing.T) {
	const start, end = "lacking:start", "lacking:end"
	both := []string{start, end}
	// A reader returns the error with which reading ends.
	type reader func() error
	for _, test := range []struct {
		name string
		open func(o *attach.Options) (attach.Tracer, reader, error)
	}{
		{"Where, second selector", func(o *attach.Options) (attach.Tracer, reader, error) {
			o.Where = "early == 1" // start has it
			s, err := attach.Open(t.Context(), both, o)
			return s, func() error { return lastError(s.Events()) }, err
		}},
		{"On", func(o *attach.Options) (attach.Tracer, reader, error) {
			s, err := attach.OpenEvents(t.Context(), both, &attach.EventOptions{On: "nosuch == 1"}, o)
			return s, func() error { return lastError(s.Events()) }, err
		}},
		{"SnapshotOptions.On", func(o *attach.Options) (attach.Tracer, reader, error) {
			s, err := attach.Open(t.Context(), both, o)
			return s, func() error { return lastError(s.Snapshots(attach.SnapshotOptions{On: "nosuch == 1"})) }, err
		}},
		{"Follow", func(o *attach.Options) (attach.Tracer, reader, error) {
			o.Follow = []string{"nosuch"}
			s, err := attach.Open(t.Context(), both, o)
			return s, func() error { return lastError(s.Events()) }, err
		}},
		{"Strings", func(o *attach.Options) (attach.Tracer, reader, error) {
			o.Strings = []string{"arg0"}
			s, err := attach.Open(t.Context(), both, o)
			return s, func() error { return lastError(s.Events()) }, err
		}},
		{"By, second selector", func(o *attach.Options) (attach.Tracer, reader, error) {
			s, err := attach.OpenAggregate(t.Context(), both, attach.Count().By("early"), o)
			return s, func() error { _, err := s.Read(); return err }, err
		}},
		{"Total", func(o *attach.Options) (attach.Tracer, reader, error) {
			s, err := attach.OpenAggregate(t.Context(), both, attach.Sum("early"), o)
			return s, func() error { _, err := s.Total(); return err }, err
		}},
		{"key of a latency", func(o *attach.Options) (attach.Tracer, reader, error) {
			s, err := attach.OpenLatency(t.Context(), start, end, &attach.LatencyOptions{Key: []string{"early"}}, o)
			return s, func() error { _, err := s.Read(); return err }, err
		}},
		{"groups of a latency", func(o *attach.Options) (attach.Tracer, reader, error) {
			s, err := attach.OpenLatency(t.Context(), start, end, &attach.LatencyOptions{Key: []string{"id"}, By: []string{"nosuch"}}, o)
			return s, func() error { _, err := s.Read(); return err }, err
		}},
		{"Where of a latency", func(o *attach.Options) (attach.Tracer, reader, error) {
			o.Where = "early == 1 && nosuch == 1"
			s, err := attach.OpenLatency(t.Context(), start, end, &attach.LatencyOptions{Key: []string{"id"}}, o)
			return s, func() error { _, err := s.Read(); return err }, err
		}},
		{"key of pairs", func(o *attach.Options) (attach.Tracer, reader, error) {
			s, err := attach.OpenPairs(t.Context(), start, end, &attach.PairOptions{Key: []string{"early"}}, o)
			return s, func() error { return lastError(s.All()) }, err
		}},
		{"Where of pairs", func(o *attach.Options) (attach.Tracer, reader, error) {
			o.Where = "nosuch == 1"
			s, err := attach.OpenPairs(t.Context(), start, end, &attach.PairOptions{Key: []string{"id"}}, o)
			return s, func() error { return lastError(s.All()) }, err
		}},
		{"key of spans", func(o *attach.Options) (attach.Tracer, reader, error) {
			s, err := attach.OpenSpans(t.Context(), nil, &attach.SpanOptions{Spans: []attach.Span{{Start: start, End: end, Key: []string{"early"}}}}, o)
			return s, func() error { return lastError(s.All()) }, err
		}},
		{"Where of spans", func(o *attach.Options) (attach.Tracer, reader, error) {
			o.Where = "nosuch == 1"
			s, err := attach.OpenSpans(t.Context(), nil, &attach.SpanOptions{Spans: []attach.Span{{Start: start, End: end, Key: []string{"id"}}}}, o)
			return s, func() error { return lastError(s.All()) }, err
		}},
		{"Where of a recorder", func(o *attach.Options) (attach.Tracer, reader, error) {
			o.Where = "early == 1"
			s, err := attach.Record(t.Context(), both, nil, o)
			return s, func() error { return s.Write(io.Discard, nil) }, err
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			declare := func() (*provider.Provider, *provider.Probe2[uint32, uint32]) {
				p := provider.New("lacking", &provider.Options{Local: true})
				probe := provider.NewProbe2[uint32, uint32](p, "start", "id", "early")
				provider.NewProbe1[uint32](p, "end", "id")
				return p, probe
			}
			options := func(await bool) *attach.Options {
				o := &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}}
				if await {
					o.Rescan, o.Await = time.Hour, true
				}
				return by(t, o)
			}
			s, read, err := test.open(options(true))
			if err != nil {
				needPrivileges(t, err)
				t.Fatal(err)
			}
			defer s.Close()
			p, probe := declare()
			if err := p.Load(); err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			if err := s.Rescan(); err != nil {
				t.Fatal(err)
			}
			probe.Fire(1, 2)
			got := make(chan error, 1)
			go func() { got <- read() }()
			select {
			case err = <-got:
			case <-time.After(time.Minute):
				t.Fatal("it is silent")
			}
			if err == nil {
				t.Fatal("it ends without an error")
			}
			if s, _, want := test.open(options(false)); want == nil {
				s.Close()
				if test.name != "SnapshotOptions.On" { // which is not the session's
					t.Errorf("it opens once the probes are there, and fails with %v before", err)
				}
			} else if want.Error() != err.Error() {
				t.Errorf("got error %v, want that of opening, %v", err, want)
			}
		})
	}
}

// lastError reads all, and returns the last error.
func lastError[T any](all iter.Seq2[T, error]) (last error) {
	for _, err := range all {
		if err != nil {
			last = err
		}
	}
	return last
}
