package usdtreceiver_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestCollector has the built collector trace this program, and compares what its exporter for
// Prometheus says with what this program counted itself.
func TestCollector(t *testing.T) {
	program := collector(t)
	needs.Root(t)
	addr, own := free(t), free(t)
	text := fmt.Sprintf(`
receivers:
  usdt:
    traces:
      - probes: ["otelshop:sale"]
        target: {pids: [%[1]d]}
        metrics: {value: cents, show: [sum, histogram], by: [item], interval: 50ms, unit: cent}
      - probes: ["otelshop:sale"]
        target: {pids: [%[1]d]}
        logs: {parent: traceparent}
      - name: otelshop.sold__items
        probes: ["otelshop:sale"]
        target: {pids: [%[1]d]}
        metrics: {by: [item], interval: 50ms}
exporters:
  prometheus: {endpoint: %[2]q}
  debug: {}
service:
  telemetry: %[3]s
  pipelines:
    metrics: {receivers: [usdt], exporters: [prometheus]}
    logs: {receivers: [usdt], exporters: [debug]}
`, os.Getpid(), addr, ownTelemetry(own))
	config := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program, "validate", "--config", config).CombinedOutput(); err != nil {
		t.Fatalf("validate: %v\n%s", err, out)
	}
	p := begins(t, "", program, "--config", config)
	eventually(t, "the collector counts nothing", func() bool {
		p.lives(t)
		sale.Fire("first", 1, "")
		return exposed(addr, "otelshop_sale_count_total", `item="first"`) != "" && exposed(addr, "otelshop_sold_items_count_total", `item="first"`) != ""
	})
	sum := 0
	for i := range 500 {
		sale.Fire("then", int64(i), parent)
		sum += i
	}
	eventually(t, "the collector has not counted all", func() bool { return exposed(addr, "otelshop_sale_count_total", `item="then"`) == "500" })
	eventually(t, "the sum differs", func() bool { return exposed(addr, "otelshop_sale_sum_cent", `item="then"`) == fmt.Sprint(sum) })
	eventually(t, "a name with two underscores is another", func() bool {
		return exposed(addr, "otelshop_sold_items_count_total", `item="then"`) == "500"
	})
	eventually(t, "the collector's own telemetry has no events", func() bool { return events(own, "fired", "otelshop:sale") > 0 })
	// A reload of the configuration, in which another trace differs, loses nothing.
	text = strings.Replace(text, "otelshop.sold__items", "otelshop.sold", 1)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p.signal(t, syscall.SIGHUP)
	for i := range 500 {
		sale.Fire("then", int64(i), parent)
		time.Sleep(100 * time.Microsecond) // some come before it, and some after
	}
	eventually(t, "the collector does not reload", func() bool {
		sale.Fire("after", 1, "")
		return exposed(addr, "otelshop_sold_count_total", `item="after"`) != ""
	})
	eventually(t, "the reload loses events", func() bool { return exposed(addr, "otelshop_sale_count_total", `item="then"`) == "1000" })
	p.signal(t, syscall.SIGTERM)
	if <-p.ended; p.err != nil {
		t.Errorf("the collector ended: %v\n%s", p.err, p.said())
	}
}

// TestCollectorValidates checks that the collector's own command names an entry that is wrong, and
// accepts the files of the repository.
func TestCollectorValidates(t *testing.T) {
	program := collector(t)
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(bad, []byte(`
receivers: {usdt: {traces: [{probes: ["a:b"], logs: {}}, {probes: ["a:b"], where: "x >", logs: {}}]}}
exporters: {debug: {}}
service: {pipelines: {logs: {receivers: [usdt], exporters: [debug]}}}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program, "validate", "--config", bad).CombinedOutput(); err == nil || !strings.Contains(string(out), "traces::1") {
		t.Errorf("%v, want an error about the second entry: %s", err, out)
	}
	for _, good := range []string{"../example.yaml", "../fleet.yaml", "../../deploy/collector.yaml"} {
		if out, err := exec.Command(program, "validate", "--config", good).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", good, err, out)
		}
	}
}

// TestReadme runs the command that README has for the collector, and asks where it says to ask. It
// does the same with the configuration of deploy. No trace of either may fail.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^\$ make otelcol\n\$ sudo bin/otelcol/otelcol-usdt (.*) &\n\$ curl (\S+)$`).FindSubmatch(readme)
	if m == nil {
		t.Fatal("README has no commands for the collector")
	}
	alone(t)
	answers(t, string(m[2]), strings.Fields(string(m[1]))...)
	answers(t, "localhost:8889/metrics", "--config", "deploy/collector.yaml")
}

// alone waits until no other run of the test has the ports that the files of the repository name.
func alone(t *testing.T) {
	t.Helper()
	lock, err := os.OpenFile(filepath.Join(os.TempDir(), "usdt-otelcol-ports"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Close() })
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
}

// answers runs the collector in the repository's root until it answers, and all traces have been
// attached to.
func answers(t *testing.T, url string, args ...string) {
	t.Helper()
	needs.Root(t)
	p := begins(t, "../..", collector(t), args...)
	eventually(t, "nothing answers", func() bool {
		p.lives(t)
		_, ok := get("http://" + url)
		return ok && strings.Contains(p.said(), "Everything is ready")
	})
	p.signal(t, syscall.SIGTERM)
	// The signal may come before the collector handles it.
	<-p.ended
	if strings.Contains(p.said(), "This trace failed") {
		t.Errorf("%q: %s", args, p.said())
	}
}
