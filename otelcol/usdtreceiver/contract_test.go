package usdtreceiver_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pipeline"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/otelcol/usdtreceiver"
)

// generator fires the probes whose events the collector's checks count.
type generator struct {
	t   *testing.T
	tel *componenttest.Telemetry
	n   atomic.Int64
}

// Start fires what becomes nothing, until it is counted.
func (g *generator) Start() {
	eventually(g.t, "the receiver has not attached", func() bool {
		mark.Fire("nothing")
		ended.Fire()
		return outcomes(g.t, g.tel, "contract")["fired"] > 0
	})
}

func (g *generator) Stop() {}

func (g *generator) Generate() []receivertest.UniqueIDAttrVal {
	id := fmt.Sprint(g.n.Add(1))
	mark.Fire(id)
	ended.Fire()
	return []receivertest.UniqueIDAttrVal{receivertest.UniqueIDAttrVal(id)}
}

// TestContract has the collector check what the receiver does when the pipeline refuses data. (It has
// no check for metrics that are added up.)
func TestContract(t *testing.T) {
	needs.Root(t)
	for signal, trace := range map[pipeline.Signal]usdtreceiver.Trace{
		pipeline.SignalLogs:   {Probes: []string{"otelshop:mark"}, Logs: &usdtreceiver.Logs{}},
		pipeline.SignalTraces: {Spans: &usdtreceiver.Spans{Start: "otelshop:mark", End: "otelshop:ended"}},
	} {
		trace.Name, trace.Target, trace.Where = "contract", here(), receivertest.UniqueIDAttrName+` != "nothing"`
		g := &generator{t: t}
		tested := usdtreceiver.NewFactory()
		// told has the generator see the telemetry of each receiver.
		told := func(set receiver.Settings) receiver.Settings {
			g.tel = componenttest.NewTelemetry()
			set.TelemetrySettings = g.tel.NewTelemetrySettings()
			return set
		}
		f := receiver.NewFactory(tested.Type(), tested.CreateDefaultConfig,
			receiver.WithLogs(func(ctx context.Context, set receiver.Settings, cfg component.Config, next consumer.Logs) (receiver.Logs, error) {
				return tested.CreateLogs(ctx, told(set), cfg, next)
			}, tested.LogsStability()),
			receiver.WithTraces(func(ctx context.Context, set receiver.Settings, cfg component.Config, next consumer.Traces) (receiver.Traces, error) {
				return tested.CreateTraces(ctx, told(set), cfg, next)
			}, tested.TracesStability()))
		receivertest.CheckConsumeContract(receivertest.CheckConsumeContractParams{T: t, Factory: f, Signal: signal, GenerateCount: 200, Config: config(trace), Generator: g})
	}
}
