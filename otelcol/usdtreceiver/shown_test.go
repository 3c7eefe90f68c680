package usdtreceiver_test

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/provider"
)

// expressions returns what rules and the dashboard ask Prometheus for.
func expressions(t *testing.T) (asked []string) {
	t.Helper()
	for _, group := range at(t, yaml(t, "alerts.yaml"), "groups").([]any) {
		for _, rule := range at(t, group, "rules").([]any) {
			asked = append(asked, at(t, rule, "expr").(string))
		}
	}
	text, err := os.ReadFile(deploy + "dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			asked = append(asked, target.Expr)
		}
	}
	if len(asked) < 10 {
		t.Fatalf("only %d expressions are found", len(asked))
	}
	return asked
}

// TestShownMetrics runs the built collector with the traces of collector.yaml, attached to probes of the
// same names in this program, and checks that it exposes each metric that rules and the dashboard ask for.
func TestShownMetrics(t *testing.T) {
	needs.Root(t)
	conf := yaml(t, "collector.yaml")
	addr, own := free(t), free(t)
	probes := map[string][]string{} // by provider
	for _, one := range at(t, conf, "receivers", "usdt", "traces").([]any) {
		trace := one.(map[string]any)
		trace["target"] = map[string]any{"pids": []int{os.Getpid()}}
		metrics := trace["metrics"].(map[string]any)
		metrics["interval"] = "50ms"
		all, _ := trace["probes"].([]any)
		if all == nil {
			all = []any{metrics["start"], metrics["end"]}
		}
		for _, probe := range all {
			of, name, _ := strings.Cut(probe.(string), ":")
			probes[of] = append(probes[of], name)
		}
	}
	at(t, conf, "exporters", "prometheus").(map[string]any)["endpoint"] = addr
	at(t, conf, "processors", "batch").(map[string]any)["timeout"] = "50ms"
	host, port, err := net.SplitHostPort(own)
	if err != nil {
		t.Fatal(err)
	}
	reader := at(t, conf, "service", "telemetry", "metrics", "readers", 0, "pull", "exporter", "prometheus").(map[string]any)
	reader["host"], reader["port"] = host, json.Number(port)
	var fire []*provider.Probe0
	for of, names := range probes {
		p := provider.New(of, nil)
		for _, name := range names {
			fire = append(fire, provider.NewProbe0(p, name))
		}
		if err := p.Load(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
	}
	text, err := json.Marshal(conf) // which YAML is
	if err != nil {
		t.Fatal(err)
	}
	c := runCollector(t, string(text))
	metric := regexp.MustCompile(`[a-z_]+_total\b|otelcol_[a-z_]+`)
	for _, expr := range expressions(t) {
		all := metric.FindAllString(expr, -1)
		if len(all) == 0 {
			t.Errorf("%s names no metric", expr)
		}
		for _, name := range all {
			eventually(t, expr+" asks for a metric that the collector does not expose: "+name, func() bool {
				c.lives(t)
				for _, p := range fire {
					p.Fire()
				}
				line := regexp.MustCompile(`(?m)^` + name + `\{`)
				return slices.ContainsFunc([]string{addr, own}, func(at string) bool {
					body, _ := get("http://" + at + "/metrics")
					return line.MatchString(body)
				})
			})
		}
	}
}

// TestAlerts has Prometheus' own tool check the rules, and test which series they report.
func TestAlerts(t *testing.T) {
	needs.Tools(t, "promtool")
	for _, args := range [][]string{{"check", "rules", deploy + "alerts.yaml"}, {"test", "rules", "testdata/alerts.yaml"}} {
		if out, err := exec.Command("promtool", args...).CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
	text, err := os.ReadFile("testdata/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range at(t, yaml(t, "alerts.yaml"), "groups").([]any) {
		for _, rule := range at(t, group, "rules").([]any) {
			if name := at(t, rule, "alert").(string); !strings.Contains(string(text), "alertname: "+name) {
				t.Errorf("no test has the alert %s", name)
			}
		}
	}
}
