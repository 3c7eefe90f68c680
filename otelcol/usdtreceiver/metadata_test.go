package usdtreceiver_test

import (
	"maps"
	"slices"
	"testing"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/collector/receiver/xreceiver"

	"github.com/go-usdt/usdt/otelcol/usdtreceiver"
)

// TestMetadata compares metadata.yaml with what mdatagen has made of it, and with the collector's own
// telemetry.
func TestMetadata(t *testing.T) {
	conf, err := confmaptest.LoadConf("metadata.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var meta struct {
		Type   string `mapstructure:"type"`
		Status struct {
			Stability map[string][]string `mapstructure:"stability"`
		} `mapstructure:"status"`
		Telemetry struct {
			Metrics map[string]struct {
				Description string `mapstructure:"description"`
				Unit        string `mapstructure:"unit"`
			} `mapstructure:"metrics"`
		} `mapstructure:"telemetry"`
		Attributes map[string]struct {
			Enum []string `mapstructure:"enum"`
		} `mapstructure:"attributes"`
	}
	if err := conf.Unmarshal(&meta, confmap.WithIgnoreUnused()); err != nil {
		t.Fatal(err)
	}
	f := usdtreceiver.NewFactory()
	if f.Type().String() != meta.Type {
		t.Errorf("type %s, want %s", f.Type(), meta.Type)
	}
	stable := map[component.StabilityLevel]string{component.StabilityLevelDevelopment: "development"}
	for signal, level := range map[string]component.StabilityLevel{"metrics": f.MetricsStability(), "logs": f.LogsStability(), "traces": f.TracesStability(), "profiles": f.(xreceiver.Factory).ProfilesStability()} {
		if !slices.Contains(meta.Status.Stability[stable[level]], signal) {
			t.Errorf("%s are %v, and not so in metadata.yaml", signal, level)
		}
	}
	tel := componenttest.NewTelemetry()
	set := receivertest.NewNopSettings(usdtreceiver.Type)
	set.TelemetrySettings = tel.NewTelemetrySettings()
	r, err := f.CreateLogs(t.Context(), set, config(usdtreceiver.Trace{Name: "one", Probes: []string{"nobody_has_this:probe"}, Target: here(), Logs: &usdtreceiver.Logs{}}), consumertest.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(t.Context(), componenttest.NewNopHost()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	if len(meta.Telemetry.Metrics) == 0 {
		t.Error("metadata.yaml has no telemetry")
	}
	for name, want := range meta.Telemetry.Metrics {
		m, err := tel.GetMetric("otelcol_" + name)
		if err != nil || m.Description != want.Description+" [Development]" || m.Unit != want.Unit {
			t.Errorf("%s: %q in %q, %v, want %+v", name, m.Description, m.Unit, err, want)
		}
	}
	got := slices.Sorted(maps.Keys(outcomes(t, tel, "one")))
	if want := slices.Sorted(slices.Values(meta.Attributes["outcome"].Enum)); !slices.Equal(got, want) {
		t.Errorf("outcomes %q, want %q", got, want)
	}
}
