package usdtreceiver_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/collector/receiver/xreceiver"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/go-usdt/usdt/otelcol/usdtreceiver"
)

// read reads a configuration as the collector does.
func read(t *testing.T, text string) error {
	t.Helper()
	retrieved, err := confmap.NewRetrievedFromYAML([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	conf, err := retrieved.AsConf()
	if err != nil {
		t.Fatal(err)
	}
	cfg := usdtreceiver.NewFactory().CreateDefaultConfig()
	if err := conf.Unmarshal(cfg); err != nil {
		return err
	}
	return confmap.Validate(cfg)
}

func TestConfig(t *testing.T) {
	if err := componenttest.CheckConfigStruct(usdtreceiver.NewFactory().CreateDefaultConfig()); err != nil {
		t.Error(err)
	}
	conf, err := confmaptest.LoadConf("testdata/config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	cfg := usdtreceiver.NewFactory().CreateDefaultConfig()
	if err := conf.Unmarshal(cfg); err != nil {
		t.Fatal(err)
	}
	if err := confmap.Validate(cfg); err != nil {
		t.Error(err)
	}
}

// TestConfigRefused checks that a wrong entry is named, with the field that is wrong.
func TestConfigRefused(t *testing.T) {
	for text, want := range map[string]string{
		"traces: []":                  "there are none",
		"traces: [{probes: ['a:b']}]": "traces::0: nothing becomes of the events",
		"traces: [{probes: ['a:b'], logs: {}}, {probes: ['a'], logs: {}}]": "traces::1: probes",
		"traces: [{logs: {}}]": "traces::0: probes",
		"traces: [{probes: ['a:b'], spans: {start: 'a:b', end: 'a:c'}}]":                     "traces::0: probes: start and end take their place",
		"traces: [{probes: ['a:b'], where: 'x >', logs: {}}]":                                "Where",
		"traces: [{probes: ['a:b'], target: {pod: web}, logs: {}}]":                          "Pod",
		"traces: [{probes: ['a:b'], target: {pids: [1], comm: x}, logs: {}}]":                "Target",
		"traces: [{probes: ['a:b'], name: 'a b', logs: {}}]":                                 "name",
		"traces: [{probes: ['a:b'], max_events_per_second: -1, logs: {}}]":                   "max_events_per_second",
		"traces: [{probes: ['a:b'], max_bytes_per_second: -1, logs: {}}]":                    "max_bytes_per_second",
		"traces: [{probes: ['a:b'], max_cpu_percent: -1, logs: {}}]":                         "max_cpu_percent",
		"{max_cpu_percent: -1, traces: [{probes: ['a:b'], logs: {}}]}":                       "max_cpu_percent: -1",
		"traces: [{probes: ['a:b'], suspension: -1s, logs: {}}]":                             "suspension",
		"traces: [{probes: ['a:b'], metrics: {show: [avg], value: x}}]":                      "metrics: show",
		"traces: [{probes: ['a:b'], metrics: {value: x}}]":                                   "metrics: value",
		"traces: [{probes: ['a:b'], metrics: {value: x, show: [histogram], scale: 4}}]":      "metrics: scale",
		"traces: [{probes: ['a:b'], metrics: {value: x, show: [sum], scale: 1}}]":            "metrics: scale",
		"traces: [{probes: ['a:b'], metrics: {interval: 1ms}}]":                              "metrics: interval",
		"traces: [{probes: ['a:b'], metrics: {interval: 5}}]":                                "metrics: interval: 5ns is less than 10ms; a number without a unit counts nanoseconds",
		"traces: [{probes: ['a:b'], name: '1', where: 'x >', logs: {}}]":                     "\ntraces::0: option Where", // each error by itself
		"traces: [{probes: ['a:b'], logs: }]":                                                "traces::0: nothing becomes of the events: want metrics, logs, spans or profiles, with {}",
		"traces: [{metrics: {end: 'a:b'}}]":                                                  "metrics: start and end: one of them is missing",
		"traces: [{probes: ['a:b'], metrics: {max_groups: -1}}]":                             "metrics: max_groups",
		"traces: [{probes: ['a:b'], metrics: {temporality: both}}]":                          "metrics: temporality",
		"traces: [{probes: ['a:b'], metrics: {key: [x]}}]":                                   "metrics: key",
		"traces: [{metrics: {start: 'a:b', end: 'a:c', value: x, show: [sum]}}]":             "metrics: value",
		"traces: [{probes: ['a:b'], metrics: {by: [probe]}}]":                                "metrics: by",
		"traces: [{probes: ['a:b'], metrics: {by: [pid], process: true}}]":                   "metrics: by",
		"{max_cpu_percent: .nan, traces: [{probes: ['a:b'], logs: {}}]}":                     "max_cpu_percent: NaN",
		"traces: [{profiles: {}}]":                                                           "traces::0: probes",
		"traces: [{probes: ['a:b'], profiles: {unit: ms}}]":                                  "profiles: unit",
		"traces: [{probes: ['a:b'], profiles: {by: [pid]}}]":                                 "profiles: by",
		"traces: [{probes: ['a:b'], profiles: {max_frames: 128}}]":                           "profiles: option Stack",
		"traces: [{probes: ['a:b'], profiles: {max_frames: -1}}]":                            "profiles: option Stack",
		"traces: [{probes: ['a:b'], profiles: {interval: 1ms}}]":                             "profiles: interval",
		"traces: [{probes: ['a:b'], profiles: {max_groups: -1}}]":                            "profiles: max_groups",
		"traces: [{probes: ['a:b'], profiles: {show: [sum]}}]":                               "show",
		"traces: [{probes: ['a:b'], metrics: {max_pending: 1}}]":                             "metrics: max_pending",
		"traces: [{metrics: {start: 'a:b', end: 'a:c', max_pending: -1}}]":                   "metrics: max_pending",
		"traces: [{spans: {start: 'a:b', end: 'a:c', max_pending: -1}}]":                     "spans: option MaxPending",
		"traces: [{metrics: {start: 'a:b'}}]":                                                "metrics",
		"traces: [{spans: {start: 'a:b'}}]":                                                  "traces::0: spans: start and end: one of them is missing",
		"traces: [{spans: {start: 'a:b', end: 'a:c', slower: -1s}}]":                         "Slower",
		"traces: [{spans: {duration: ms}}]":                                                  "traces::0: probes",
		"traces: [{probes: ['a:b'], spans: {duration: ms, unit: h}}]":                        "spans: unit",
		"traces: [{spans: {start: 'a:b', end: 'a:c', unit: ms}}]":                            "spans: unit",
		"traces: [{probes: ['a:b'], spans: {duration: ms, start: 'a:b', end: 'a:c'}}]":       "spans: duration",
		"traces: [{probes: ['a:b'], spans: {duration: ms, slower: 1ms}}]":                    "spans: slower",
		"traces: [{spans: {start: 'a:b', end: 'a:c', nest: -1s}}]":                           "spans: nest",
		"traces: [{spans: {start: 'a:b', end: 'a:c', nest: 1h}}]":                            "spans: nest",
		"traces: [{spans: {start: 'a:b', end: 'a:c', parent: p, trace_id: [t]}}]":            "spans: trace_id",
		"traces: [{spans: {start: 'a:b', end: 'a:c', trace_id: [t, u, v]}}]":                 "spans: trace_id",
		"traces: [{spans: {start: 'a:b', end: 'a:c', span_id: s}}]":                          "spans: span_id",
		"traces: [{probes: ['a:b'], logs: {parent: p, trace_id: [t]}}]":                      "logs: trace_id",
		"traces: [{probes: ['a:b'], metrics: {by: ['x +']}}]":                                "metrics: option By",
		"traces: [{probes: ['a:b'], metrics: {by: ['']}}]":                                   "metrics: option By",
		"traces: [{probes: ['a:b'], metrics: {max_groups: 100000000}}]":                      "metrics: option MaxGroups",
		"traces: [{metrics: {start: 'a:b', end: 'a:c', by: ['x +']}}]":                       "metrics: option By",
		"traces: [{metrics: {start: 'a:b', end: 'a:c', key: ['x +']}}]":                      "metrics: option Key",
		"traces: [{probes: ['a:b'], profiles: {by: ['x(']}}]":                                "profiles: option By",
		"traces: [{probes: ['a:b'], logs: {snapshot: {}}}]":                                  "logs: snapshot: on",
		"traces: [{probes: ['a:b'], logs: {snapshot: {on: 'x >'}}}]":                         "logs: snapshot",
		"traces: [{probes: ['a:b'], logs: {snapshot: {on: x > 1, wait: -1s}}}]":              "logs: snapshot: wait",
		"traces: [{probes: ['a:b'], logs: {snapshot: {on: x > 1, every: -1s}}}]":             "logs: snapshot: every",
		"traces: [{probes: ['a:b'], logs: {snapshot: {on: x > 1, before: 2000000}}}]":        "logs: snapshot: before",
		"traces: [{probes: ['a:b'], logs: {}, colour: red}]":                                 "colour",
		"traces: [{probes: ['a:b'], metrics: {start: 'a:b', end: 'a:c', process: true}}]":    "metrics: process",
		"traces: [{probes: ['a:b'], logs: {}}, {where: '((', probes: ['a:b'], metrics: {}}]": "traces::1",
	} {
		if err := read(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestOneErrorEach checks that an entry that is wrong in one way has one error.
func TestOneErrorEach(t *testing.T) {
	for _, text := range []string{"traces: [{probes: ['a:b']}]", "traces: [{logs: {}}]", "traces: [{spans: {start: 'a:b'}}]", "traces: [{metrics: {end: 'a:b'}}]"} {
		if err := read(t, text); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want one line", text, err)
		}
	}
}

// TestWithoutPipeline checks that a trace is reported which no pipeline has, once.
func TestWithoutPipeline(t *testing.T) {
	core, said := observer.New(zap.WarnLevel)
	set := receivertest.NewNopSettings(usdtreceiver.Type)
	set.Logger = zap.New(core)
	f, cfg := usdtreceiver.NewFactory(), config(
		usdtreceiver.Trace{Name: "records", Probes: []string{"a:b"}, Logs: &usdtreceiver.Logs{}},
		usdtreceiver.Trace{Name: "stacks", Probes: []string{"a:b"}, Logs: &usdtreceiver.Logs{}, Profiles: &usdtreceiver.Profiles{}},
	)
	if _, err := f.CreateLogs(t.Context(), set, cfg, consumertest.NewNop()); err != nil {
		t.Fatal(err)
	}
	for range 2 { // receivers that have no trace
		m, err := f.CreateMetrics(t.Context(), set, cfg, consumertest.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(m.Start(t.Context(), componenttest.NewNopHost()), m.Shutdown(t.Context())); err != nil {
			t.Error(err)
		}
	}
	if all := said.All(); len(all) != 1 || all[0].ContextMap()["trace"] != "stacks" || all[0].ContextMap()["of"] != "profiles" {
		t.Errorf("%+v, want that no pipeline has the profiles", all)
	}
}

// TestLifecycle checks that a receiver of each signal can be made, and be shut down before it is
// started.
func TestLifecycle(t *testing.T) {
	f := usdtreceiver.NewFactory()
	set := receivertest.NewNopSettings(usdtreceiver.Type)
	cfg := config(usdtreceiver.Trace{Probes: []string{"a:b"}, Logs: &usdtreceiver.Logs{}})
	sink := consumertest.NewNop()
	m, err1 := f.CreateMetrics(t.Context(), set, cfg, sink)
	l, err2 := f.CreateLogs(t.Context(), set, cfg, sink)
	s, err3 := f.CreateTraces(t.Context(), set, cfg, sink)
	p, err4 := f.(xreceiver.Factory).CreateProfiles(t.Context(), set, cfg, sink)
	if err1 != nil || err2 != nil || err3 != nil || err4 != nil {
		t.Fatal(err1, err2, err3, err4)
	}
	for _, r := range []interface {
		Shutdown(context.Context) error
	}{m, l, s, p} {
		if err := r.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestPrinted reads what sdttrace otel prints, as its own test has it: also that conditions come back as they were
// given, in which the collector takes two $ for one.
func TestPrinted(t *testing.T) {
	text, err := os.ReadFile("../../cmd/sdttrace/testdata/otel.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range strings.Split(string(text), "$ ")[1:] {
		line, config, _ := strings.Cut(c, "\n")
		retrieved, err := confmap.NewRetrievedFromYAML([]byte(config))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		conf, err := retrieved.AsConf()
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		sub, err := conf.Sub("receivers::usdt")
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		cfg := usdtreceiver.NewFactory().CreateDefaultConfig()
		if err := sub.Unmarshal(cfg); err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		} else if err := confmap.Validate(cfg); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		where := ""
		if _, rest, ok := strings.Cut(line, "--where '"); ok {
			where, _, _ = strings.Cut(rest, "'")
		}
		if got := strings.ReplaceAll(cfg.(*usdtreceiver.Config).Traces[0].Where, "$$", "$"); got != where {
			t.Errorf("%s: the condition is %q", line, got)
		}
	}
}
