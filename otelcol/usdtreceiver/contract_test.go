package usdtreceiver_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pipeline"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/collector/receiver/xreceiver"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/otelcol/usdtreceiver"
)

// burst is how many events are fired at a time, and bursts how often, in each scenario of the checks.
const burst, bursts = 128, 48

// contract is a receiver that the collector's checks start, with what fires the events that they follow.
// It counts what the pipeline answers.
type contract struct {
	component.Component
	t     *testing.T
	each  int64 // how many events become one that the checks count: two for a pair
	tel   *componenttest.Telemetry
	id    atomic.Int64
	fired atomic.Int64 // in this scenario, as the others are
	// How many events were accepted or refused, how many pieces of data that was, and how often in a row
	// the pipeline has asked to be tried again.
	accepted, refused, pieces, again atomic.Int64
	tried                            atomic.Int64 // again, in all scenarios
}

// create makes the receiver of a scenario.
func (c *contract) create(set receiver.Settings, create func(receiver.Settings) (component.Component, error)) (component.Component, error) {
	c.tel = componenttest.NewTelemetry()
	set.TelemetrySettings = c.tel.NewTelemetrySettings()
	for _, n := range []*atomic.Int64{&c.fired, &c.accepted, &c.refused, &c.pieces, &c.again} {
		n.Store(0)
	}
	var err error
	c.Component, err = create(set)
	return c, err
}

// generator has the methods of a contract by which the checks have events fired.
type generator struct{ *contract }

// Start fires what becomes nothing, until it is counted.
func (c generator) Start() {
	eventually(c.t, "the receiver has not attached", func() bool {
		mark.Fire("nothing")
		ended.Fire()
		return outcomes(c.t, c.tel, "contract")["fired"] > 0
	})
}

func (c generator) Stop() {}

// Generate fires, and returns when as many events are accepted or refused, so that the pipeline gets many
// pieces. Several goroutines call it.
func (c generator) Generate() (ids []receivertest.UniqueIDAttrVal) {
	for range burst {
		id := fmt.Sprint(c.id.Add(1))
		mark.Fire(id)
		ended.Fire()
		ids = append(ids, receivertest.UniqueIDAttrVal(id))
	}
	until := c.fired.Add(burst)
	eventually(c.t, "events are neither accepted nor refused", func() bool { return c.accepted.Load()+c.refused.Load() >= until })
	return ids
}

// asks hands a piece to the check, and counts the answer. Since a receiver gives up a pipeline that only
// asks to be tried again, which the check does by chance, the check is asked until it decides after some times.
func (c *contract) asks(events int, check func() error) error {
	err := check()
	for err != nil && !consumererror.IsPermanent(err) {
		c.tried.Add(1)
		if c.again.Add(1) < 6 {
			return err
		}
		err = check()
	}
	c.again.Store(0)
	c.pieces.Add(1)
	if err != nil {
		c.refused.Add(int64(events))
	} else {
		c.accepted.Add(int64(events))
	}
	return err
}

// Shutdown compares the receiver's own telemetry with the answers before the receiver ends.
func (c *contract) Shutdown(ctx context.Context) error {
	fired, refused, pieces := c.fired.Load(), c.refused.Load(), c.pieces.Load()
	c.t.Logf("%d events in %d pieces, of which %d events are accepted and %d refused", fired, pieces, c.accepted.Load(), refused)
	if fired != burst*bursts || c.accepted.Load()+refused != fired || pieces < bursts/8 {
		c.t.Errorf("the pipeline got %d+%d events in %d pieces, want %d", c.accepted.Load(), refused, pieces, burst*bursts)
	}
	var o map[string]int64
	eventually(c.t, "telemetry does not count what was refused", func() bool { o = outcomes(c.t, c.tel, "contract"); return o["refused"] >= refused })
	if o["refused"] != c.each*refused || o["received"] != c.each*fired || o["fired"] != o["received"]+o["filtered"] || o["lost"]+o["missed"]+o["unread"]+o["over_budget"]+o["other"] != 0 {
		c.t.Errorf("telemetry says %v of %d events, each of %d, of which %d are refused", o, fired, c.each, refused)
	}
	return c.Component.Shutdown(ctx)
}

// TestContract has the collector check what the receiver does while the pipeline refuses data at random,
// for good or not: each event is accepted once, or was refused for good and does not come again, and the
// receiver's telemetry agrees. The checks know no profiles, of which they get each sample as a log record.
func TestContract(t *testing.T) {
	needs.Root(t)
	by, often := []string{receivertest.UniqueIDAttrName}, 10*time.Millisecond
	marks := []string{"otelshop:mark"}
	for name, one := range map[string]struct {
		signal pipeline.Signal
		each   int64
		trace  usdtreceiver.Trace
	}{
		"metrics":   {pipeline.SignalMetrics, 1, usdtreceiver.Trace{Probes: marks, Metrics: &usdtreceiver.Metrics{By: by, Interval: often, Temporality: "delta"}}},
		"latencies": {pipeline.SignalMetrics, 2, usdtreceiver.Trace{Metrics: &usdtreceiver.Metrics{Start: marks[0], End: "otelshop:ended", By: by, Interval: often, Temporality: "delta"}}},
		"logs":      {pipeline.SignalLogs, 1, usdtreceiver.Trace{Probes: marks, Logs: &usdtreceiver.Logs{}}},
		"traces":    {pipeline.SignalTraces, 2, usdtreceiver.Trace{Spans: &usdtreceiver.Spans{Start: marks[0], End: "otelshop:ended"}}},
		"profiles":  {pipeline.SignalLogs, 1, usdtreceiver.Trace{Probes: marks, Profiles: &usdtreceiver.Profiles{By: by, Interval: often}}},
	} {
		t.Run(name, func(t *testing.T) {
			one.trace.Name, one.trace.Target, one.trace.Where, one.trace.MaxEventsPerSecond = "contract", here(), receivertest.UniqueIDAttrName+` != "nothing"`, 1e6
			c := &contract{t: t, each: one.each}
			receivertest.CheckConsumeContract(receivertest.CheckConsumeContractParams{
				T: t, Factory: c.factory(name == "profiles"), Signal: one.signal, GenerateCount: bursts, Config: config(one.trace), Generator: generator{c},
			})
			if c.tried.Load() == 0 {
				t.Error("the pipeline never asked to be tried again")
			}
		})
	}
}

// factory returns what makes the receiver with a pipeline whose answers are counted.
func (c *contract) factory(profiles bool) receiver.Factory {
	tested := usdtreceiver.NewFactory()
	metrics := func(ctx context.Context, set receiver.Settings, cfg component.Config, next consumer.Metrics) (receiver.Metrics, error) {
		asked, err := consumer.NewMetrics(func(ctx context.Context, all pmetric.Metrics) error {
			counts, _, _ := numbers([]pmetric.Metrics{all}, "contract.count", receivertest.UniqueIDAttrName)
			return c.asks(len(counts), func() error { return next.ConsumeMetrics(ctx, all) })
		})
		if err != nil {
			return nil, err
		}
		return c.create(set, func(set receiver.Settings) (component.Component, error) {
			return tested.CreateMetrics(ctx, set, cfg, asked)
		})
	}
	logs := func(ctx context.Context, set receiver.Settings, cfg component.Config, next consumer.Logs) (receiver.Logs, error) {
		asked, err := consumer.NewLogs(func(ctx context.Context, all plog.Logs) error {
			return c.asks(all.LogRecordCount(), func() error { return next.ConsumeLogs(ctx, all) })
		})
		if err != nil {
			return nil, err
		}
		return c.create(set, func(set receiver.Settings) (component.Component, error) {
			return tested.CreateLogs(ctx, set, cfg, asked)
		})
	}
	traces := func(ctx context.Context, set receiver.Settings, cfg component.Config, next consumer.Traces) (receiver.Traces, error) {
		asked, err := consumer.NewTraces(func(ctx context.Context, all ptrace.Traces) error {
			return c.asks(all.SpanCount(), func() error { return next.ConsumeTraces(ctx, all) })
		})
		if err != nil {
			return nil, err
		}
		return c.create(set, func(set receiver.Settings) (component.Component, error) {
			return tested.CreateTraces(ctx, set, cfg, asked)
		})
	}
	if profiles {
		logs = func(ctx context.Context, set receiver.Settings, cfg component.Config, next consumer.Logs) (receiver.Logs, error) {
			asked, err := xconsumer.NewProfiles(func(ctx context.Context, all pprofile.Profiles) error {
				as := plog.NewLogs()
				for _, s := range samples(c.t, []pprofile.Profiles{all}) {
					receivertest.CreateOneLogWithID(receivertest.UniqueIDAttrVal(s.attributes[receivertest.UniqueIDAttrName].(string))).ResourceLogs().MoveAndAppendTo(as.ResourceLogs())
				}
				return c.asks(as.LogRecordCount(), func() error { return next.ConsumeLogs(ctx, as) })
			})
			if err != nil {
				return nil, err
			}
			return c.create(set, func(set receiver.Settings) (component.Component, error) {
				return tested.(xreceiver.Factory).CreateProfiles(ctx, set, cfg, asked)
			})
		}
	}
	return receiver.NewFactory(tested.Type(), tested.CreateDefaultConfig,
		receiver.WithMetrics(metrics, tested.MetricsStability()), receiver.WithLogs(logs, tested.LogsStability()), receiver.WithTraces(traces, tested.TracesStability()))
}
