package usdtreceiver

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/xreceiver"

	"github.com/go-usdt/usdt/otelcol/usdtreceiver/internal/metadata"
)

// Type is what the receiver is called in the collector's file.
var Type = metadata.Type

// NewFactory returns the receiver's factory, which a distribution of the collector contains. It is also an
// [xreceiver.Factory], for profiles.
func NewFactory() receiver.Factory {
	return xreceiver.NewFactory(Type,
		func() component.Config { return &Config{} },
		xreceiver.WithMetrics(func(_ context.Context, set receiver.Settings, cfg component.Config, next consumer.Metrics) (receiver.Metrics, error) {
			return newReceiver(set, cfg.(*Config), "metrics", next, func(t *Trace) task {
				if t.Metrics == nil {
					return nil
				}
				return &metricsTask{trace: t}
			})
		}, metadata.MetricsStability),
		xreceiver.WithLogs(func(_ context.Context, set receiver.Settings, cfg component.Config, next consumer.Logs) (receiver.Logs, error) {
			return newReceiver(set, cfg.(*Config), "logs", next, func(t *Trace) task {
				if t.Logs == nil {
					return nil
				}
				return &logsTask{trace: t}
			})
		}, metadata.LogsStability),
		xreceiver.WithTraces(func(_ context.Context, set receiver.Settings, cfg component.Config, next consumer.Traces) (receiver.Traces, error) {
			return newReceiver(set, cfg.(*Config), "traces", next, func(t *Trace) task {
				if t.Spans == nil {
					return nil
				}
				if t.Spans.Duration != "" {
					return &durationsTask{trace: t}
				}
				return &spansTask{trace: t}
			})
		}, metadata.TracesStability),
		xreceiver.WithProfiles(func(_ context.Context, set receiver.Settings, cfg component.Config, next xconsumer.Profiles) (xreceiver.Profiles, error) {
			return newReceiver(set, cfg.(*Config), "profiles", next, func(t *Trace) task {
				if t.Profiles == nil {
					return nil
				}
				return &profilesTask{trace: t}
			})
		}, metadata.ProfilesStability),
	)
}
