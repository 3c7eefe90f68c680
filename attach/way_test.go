package attach_test

import (
	"context"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
)

// way is how the events of a test reach this process, and are added up.
type way string

const (
	inKernel way = "kernel"
	recorded way = "recorded" // by the kernel, and added up in Go
	shared   way = "local"    // through shared memory
)

// eachWay runs a test once for each way by which any probe can be traced. Whatever it
// opens by openAggregate and openLatency goes that way.
func eachWay(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	t.Run(string(inKernel), test)
	if !testing.Short() { // what is added up in Go does not depend on the kernel
		t.Run(string(recorded), test)
	}
}

// everyWay does so for a test of probes that Go programs declare, which can also be
// traced through shared memory. Sessions that the test opens by open go that way as
// well.
func everyWay(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	eachWay(t, test)
	t.Run(string(shared), func(t *testing.T) {
		t.Setenv("USDT_LOCAL", "1")
		test(t)
	})
}

// sharedToo runs a test of events, which nobody adds up, both ways.
func sharedToo(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	t.Run(string(inKernel), test)
	t.Run(string(shared), func(t *testing.T) {
		t.Setenv("USDT_LOCAL", "1")
		test(t)
	})
}

// wayOf returns the way of a test that eachWay runs, or of a part of one.
func wayOf(t testing.TB) way {
	for part := range strings.SplitSeq(t.Name(), "/") {
		if w := way(part); w == recorded || w == shared {
			return w
		}
	}
	return inKernel
}

// by returns the options for the way of a test.
func by(t testing.TB, opts *attach.Options) *attach.Options {
	if wayOf(t) != shared {
		return opts
	}
	var o attach.Options
	if opts != nil {
		o = *opts
	}
	o.Target.Via = attach.ViaLocal
	return &o
}

// aggregateBy opens an Aggregate the way of the test.
func aggregateBy(t testing.TB, ctx context.Context, selectors []string, what attach.Aggregation, opts *attach.Options) (*attach.Aggregate, error) {
	if wayOf(t) == recorded {
		return attach.OpenAggregateRecorded(ctx, selectors, what, opts)
	}
	return attach.OpenAggregate(ctx, selectors, what, by(t, opts))
}

// latencyBy opens a Latency the way of the test.
func latencyBy(t testing.TB, ctx context.Context, start, end string, what *attach.LatencyOptions, opts *attach.Options) (*attach.Latency, error) {
	if wayOf(t) == recorded {
		return attach.OpenLatencyRecorded(ctx, start, end, what, opts)
	}
	return attach.OpenLatency(ctx, start, end, what, by(t, opts))
}
