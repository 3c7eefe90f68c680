package usdtreceiver_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// server is a Prometheus.
type server string

// runPrometheus runs Prometheus, which scrapes addresses every second, with native histograms.
func runPrometheus(t *testing.T, targets ...string) server {
	t.Helper()
	needs.Tools(t, "prometheus")
	dir, addr := t.TempDir(), free(t)
	list, err := json.Marshal(targets)
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "prometheus.yml")
	text := fmt.Sprintf("scrape_configs: [{job_name: usdt, scrape_interval: 1s, static_configs: [{targets: %s}]}]\n", list)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := begins(t, dir, "prometheus", "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+addr, "--enable-feature=native-histograms")
	eventually(t, "Prometheus is not ready", func() bool {
		p.lives(t)
		_, ok := get("http://" + addr + "/-/ready")
		return ok
	})
	return server(addr)
}

// sample is one series of an answer.
type sample struct {
	Value     [2]any
	Histogram [2]any
}

// ask returns the series that Prometheus answers a query with.
func (s server) ask(t *testing.T, query string) []sample {
	t.Helper()
	var answer struct {
		Data struct {
			Result []sample
		}
	}
	body, ok := get("http://" + string(s) + "/api/v1/query?query=" + url.QueryEscape(query))
	if !ok {
		return nil // as while it is busy
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatalf("%s: %v in %s", query, err, body)
	}
	return answer.Data.Result
}

// value returns the number that a query has as its only answer, -1 without.
func (s server) value(t *testing.T, query string) float64 {
	t.Helper()
	all := s.ask(t, query)
	if len(all) != 1 {
		return -1
	}
	text, _ := all[0].Value[1].(string)
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return -1
	}
	return n
}

// TestPrometheus has Prometheus scrape the built collector, and compares what it answers with what
// this program counted itself, also after the collector was killed and started again.
func TestPrometheus(t *testing.T) {
	needs.Root(t)
	addr, own := free(t), free(t)
	config := fmt.Sprintf(`
receivers:
  usdt:
    traces:
      - probes: ["otelshop:sale"]
        target: {pids: [%[1]d]}
        metrics: {value: cents, show: [sum, histogram], scale: 3, by: [item], interval: 100ms}
      - name: otelshop.order
        target: {pids: [%[1]d]}
        metrics: {start: "otelshop:begin", end: "otelshop:done", key: [id], by: [item], interval: 100ms}
exporters: {prometheus: {endpoint: %[2]q}}
service:
  telemetry: %[3]s
  pipelines: {metrics: {receivers: [usdt], exporters: [prometheus]}}
`, os.Getpid(), addr, ownTelemetry(own))
	prometheus := runPrometheus(t, addr, own)
	for _, item := range []string{"pear", "plum"} { // one collector after the other
		p := runCollector(t, config)
		eventually(t, "Prometheus has nothing of the collector", func() bool {
			p.lives(t)
			sale.Fire(item, 0, "")
			begin.Fire(1, item, "")
			done.Fire(1, true)
			return prometheus.value(t, fmt.Sprintf("otelshop_sale_count_total{item=%q}", item)) > 0 && prometheus.value(t, fmt.Sprintf("otelshop_order_count_total{item=%q}", item)) > 0
		})
		count, sum, buckets := 0, int64(0), map[int]int{}
		then := item + " then"
		for i := range int64(3000) {
			cents := 3 + 2*i // never a power of two
			sale.Fire(then, cents, "")
			begin.Fire(2, then, "")
			done.Fire(2, true)
			count, sum = count+1, sum+cents
			buckets[int(math.Ceil(8*math.Log2(float64(cents))))]++ // up to 2^(n/8)
		}
		for query, want := range map[string]float64{
			"otelshop_sale_count_total{item=%q}":                                             float64(count),
			"otelshop_sale_sum{item=%q}":                                                     float64(sum),
			"histogram_count(otelshop_sale_histogram{item=%q})":                              float64(count),
			"histogram_sum(otelshop_sale_histogram{item=%q})":                                float64(sum),
			"otelshop_order_count_total{item=%q}":                                            float64(count),
			"histogram_count(otelshop_order_histogram_nanoseconds{item=%q})":                 float64(count),
			"otelshop_order_sum_nanoseconds_total{item=%[1]q} > bool 0":                      1,
			"otelshop_order_max_nanoseconds{item=%q} >= bool otelshop_order_min_nanoseconds": 1,
		} {
			query = fmt.Sprintf(query, then)
			var got float64
			eventually(t, query, func() bool { got = prometheus.value(t, query); return got == want || got > want })
			if got != want {
				t.Errorf("%s: Prometheus has %v, the program counted %v", query, got, want)
			}
		}
		all := prometheus.ask(t, fmt.Sprintf("otelshop_sale_histogram{item=%q}", then))
		if len(all) != 1 {
			t.Fatalf("%d histograms", len(all))
		}
		histogram, _ := all[0].Histogram[1].(map[string]any)
		list, _ := histogram["buckets"].([]any)
		for _, one := range list { // rule, from, to, count
			bucket := one.([]any)
			to, err := strconv.ParseFloat(bucket[2].(string), 64)
			if err != nil {
				t.Fatal(err)
			}
			n := int(math.Round(8 * math.Log2(to)))
			if got := bucket[3].(string); got != fmt.Sprint(buckets[n]) {
				t.Errorf("%s values up to %v, the program counted %d", got, to, buckets[n])
			}
			delete(buckets, n)
		}
		if len(buckets) > 0 {
			t.Errorf("Prometheus lacks the buckets of %v, and has %v", buckets, list)
		}
		if got := prometheus.value(t, `sum(otelcol_usdt_events{outcome=~"lost|missed|refused"})`); got != 0 {
			t.Errorf("%v events are lost", got)
		}
		p.signal(t, syscall.SIGKILL)
		<-p.ended
	}
}
