package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/provider"
)

// costLine is what -v says of the cost.
var costLine = regexp.MustCompile(`(?m)^sdttrace: cost: (\d+) ns per event in sdttrace's programs, (\S+) in (\d+) runs, [\d.]+ % of the traced processes' CPU time \(\S+\); the trap into the kernel before each run is not in it$`)

// TestCost checks that -v says what the kernel measures, of all events that
// fired, and that --sample saves a good part of it: here about half.
func TestCost(t *testing.T) {
	needs.Root(t)
	p := provider.New("costs", nil)
	t.Cleanup(func() { p.Close() })
	hit := provider.NewProbe2[int, string](p, "hit", "n", "text")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		text := strings.Repeat("x", 1000)
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
				hit.Fire(n, text)
			}
		}
	}()
	defer func() {
		close(stop)
		<-stopped
	}()
	nanos := func(flags ...string) int {
		t.Helper()
		var stdout, stderr bytes.Buffer
		args := append(flags, "-p", fmt.Sprint(os.Getpid()), "--duration", "200ms", "costs:hit")
		begin := time.Now()
		if code := run(t.Context(), args, &stdout, &stderr); code != exitDone {
			t.Fatalf("%q: exit code %d: %s", flags, code, &stderr)
		}
		said := costLine.FindStringSubmatch(stderr.String())
		fired := regexp.MustCompile(`(?m)^sdttrace: (\d+) fired: \d+ received, `).FindStringSubmatch(stderr.String())
		if said == nil || fired == nil {
			t.Fatalf("%q: the summary is %s", flags, &stderr)
		}
		each, _ := strconv.Atoi(said[1])
		all, err := time.ParseDuration(said[2])
		runs, _ := strconv.Atoi(said[3])
		if n, _ := strconv.Atoi(fired[1]); err != nil || runs != n || runs < 100 || each < 10 || all > time.Since(begin) || each != int(all.Nanoseconds())/runs && (each-int(all.Nanoseconds())/runs)*(each-int(all.Nanoseconds())/runs) > 1 {
			t.Errorf("%q: %d ns in %d runs, together %v, of %s events: %v", flags, each, runs, all, fired[1], err)
		}
		return each
	}
	whole, sampled, counted := math.MaxInt, math.MaxInt, math.MaxInt
	for range 3 { // others slow them down
		whole = min(whole, nanos("-v", "--force"))
		sampled = min(sampled, nanos("-v", "--sample", "1000"))
		counted = min(counted, nanos("count", "-v"))
	}
	t.Logf("%d ns per event, %d ns of one in 1000, %d ns counted", whole, sampled, counted)
	if 4*sampled > 3*whole {
		t.Errorf("with --sample 1000 an event costs %d ns, want less than three quarters of %d ns", sampled, whole)
	}
}
