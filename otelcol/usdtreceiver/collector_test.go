package usdtreceiver_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// collector returns the collector that "make otelcol" has built.
func collector(t *testing.T) string {
	t.Helper()
	path := os.Getenv("OTELCOL")
	if path == "" {
		needs.Skip(t, "OTELCOL is not the path of a collector: make test-otelcol builds one")
	}
	return path
}

// TestCollector has the built collector trace this program, and compares what its exporter for
// Prometheus says with what this program counted itself.
func TestCollector(t *testing.T) {
	program := collector(t)
	needs.Root(t)
	addr, own := free(t), free(t)
	_, port, _ := net.SplitHostPort(own)
	config := filepath.Join(t.TempDir(), "config.yaml")
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
  telemetry: {metrics: {readers: [{pull: {exporter: {prometheus: {host: 127.0.0.1, port: %[3]s}}}}]}}
  pipelines:
    metrics: {receivers: [usdt], exporters: [prometheus]}
    logs: {receivers: [usdt], exporters: [debug]}
`, os.Getpid(), addr, port)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program, "validate", "--config", config).CombinedOutput(); err != nil {
		t.Fatalf("validate: %v\n%s", err, out)
	}
	cmd := exec.Command(program, "--config", config)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer cmd.Process.Kill()
	value := func(at, metric, label string) string {
		res, err := http.Get("http://" + at + "/metrics")
		if err != nil {
			return ""
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			return ""
		}
		m := regexp.MustCompile(`(?m)^` + metric + `\{[^}]*` + label + `[^}]*\} (\S+)$`).FindSubmatch(body)
		if m == nil {
			return ""
		}
		return string(m[1])
	}
	eventually(t, "the collector counts nothing", func() bool {
		select {
		case err := <-ended:
			t.Fatalf("the collector ended: %v\n%s", err, said.String())
		default:
		}
		sale.Fire("first", 1, "")
		return value(addr, "otelshop_sale_count_total", `item="first"`) != "" && value(addr, "otelshop_sold_items_count_total", `item="first"`) != ""
	})
	sum := 0
	for i := range 500 {
		sale.Fire("then", int64(i), parent)
		sum += i
	}
	eventually(t, "the collector has not counted all", func() bool { return value(addr, "otelshop_sale_count_total", `item="then"`) == "500" })
	eventually(t, "the sum differs", func() bool { return value(addr, "otelshop_sale_sum_cent", `item="then"`) == fmt.Sprint(sum) })
	eventually(t, "a name with two underscores is another", func() bool {
		return value(addr, "otelshop_sold_items_count_total", `item="then"`) == "500"
	})
	eventually(t, "the collector's own telemetry has no events", func() bool {
		n, err := strconv.Atoi(value(own, "otelcol_usdt_events", `outcome="fired",[^}]*trace="otelshop:sale"`))
		return err == nil && n > 0
	})
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the collector ended: %v\n%s", err, said.String())
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
	for _, good := range []string{"../example.yaml", "../../deploy/collector.yaml"} {
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
	answers(t, string(m[2]), strings.Fields(string(m[1]))...)
	answers(t, "localhost:8889/metrics", "--config", "deploy/collector.yaml")
}

// answers runs the collector in the repository's root until it answers, and all traces have been
// attached to.
func answers(t *testing.T, url string, args ...string) {
	t.Helper()
	program := collector(t)
	needs.Root(t)
	cmd := exec.Command(program, args...)
	cmd.Dir = "../.."
	path := filepath.Join(t.TempDir(), "said")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	said := func() string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer cmd.Process.Kill()
	eventually(t, "nothing answers", func() bool {
		select {
		case err := <-ended:
			t.Fatalf("the collector ended: %v\n%s", err, said())
		default:
		}
		if !strings.Contains(said(), "Everything is ready") {
			return false
		}
		res, err := http.Get("http://" + url)
		if err != nil {
			return false
		}
		res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	// The signal may come before the collector handles it.
	<-ended
	if strings.Contains(said(), "This trace failed") {
		t.Errorf("%q: %s", args, said())
	}
}

// free returns an address on which nobody listens.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
