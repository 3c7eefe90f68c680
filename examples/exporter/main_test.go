package main

import (
	"bufio"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/systest/tool"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/total"
)

// TestRun scrapes twice: counters go on.
func TestRun(t *testing.T) {
	tracee.Alone(t, "front")
	front := provider.New("front", nil)
	done := provider.NewProbe3[string, int, time.Duration](front, "request_done", "request", "status", "took")
	if err := front.Load(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { front.Close() })
	running := tool.Start(t, run)
	address := running.First
	done.Fire("a", 777, 3*time.Millisecond) // a status that no other service has
	done.Fire("b", 777, 40*time.Millisecond)
	scrape(t, address, "0 1 2 2 2", "0.043", "2")
	done.Fire("c", 777, 2*time.Second)
	scrape(t, address, "0 1 2 2 3", "2.043", "3")
	running.End()
}

// TestLabels writes a status that looks like another metric and has bytes that are no text.
func TestLabels(t *testing.T) {
	hostile := event.Arg{Name: "status", Value: "a\"} 1\nrequest_seconds_sum{status=\"b\\\xff\u202e\x1b\x00"}
	var written strings.Builder
	write(&written, []total.Group{{By: []event.Arg{hostile}, Count: 1, Sum: 3 * time.Millisecond}, {By: []event.Arg{hostile}, Count: 1, Sum: int64(7)}})
	line := regexp.MustCompile(`^request_seconds_(bucket|count|sum)\{status="([^"\\]|\\[n"\\])*"(,le="[0-9.+Inf]+")?\} [0-9.e+-]+$`)
	lines := strings.Split(strings.TrimSuffix(written.String(), "\n"), "\n")
	for _, text := range lines {
		if !line.MatchString(text) || !utf8.ValidString(text) {
			t.Errorf("Prometheus cannot read %q", text)
		}
	}
	if want := len(bounds) + 3; len(lines) != want {
		t.Errorf("%d lines, want %d of the group whose sum is a duration", len(lines), want)
	}
}

// scrape compares the buckets, the sum and the number of values.
func scrape(t *testing.T, address, buckets, sum, count string) {
	t.Helper()
	answer, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	got := map[string][]string{}
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if name, value, _ := strings.Cut(lines.Text(), " "); strings.Contains(name, `status="777"`) {
			name, _, _ = strings.Cut(name, "{")
			got[name] = append(got[name], value)
		}
	}
	want := map[string][]string{"request_seconds_bucket": strings.Fields(buckets), "request_seconds_sum": {sum}, "request_seconds_count": {count}}
	for name := range want {
		if !slices.Equal(got[name], want[name]) {
			t.Errorf("%s: got %q, want %q", name, got[name], want[name])
		}
	}
}
