package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

// TestCostOfLatency compares what sdttrace says of the part of tracing in latencies with what it says
// of events.
func TestCostOfLatency(t *testing.T) {
	needs.Root(t)
	p := provider.New("brief", nil)
	t.Cleanup(func() { p.Close() })
	begin, end := provider.NewProbe1[int](p, "begin", "n"), provider.NewProbe1[int](p, "end", "n")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	sdttrace := needs.Build(t, "cmd/sdttrace")
	measure := func(flags ...string) (out, said string) {
		var stdout, stderr tracee.Output
		cmd := exec.Command(sdttrace, append([]string{"latency", "brief:begin", "brief:end", "-p", fmt.Sprint(os.Getpid())}, flags...)...)
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer cmd.Process.Kill()
		stderr.Await(t, "Ctrl-C ends")
		for n := range 100 {
			begin.Fire(n)
			end.Fire(n)
		}
		cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v\n%s", err, &stderr)
		}
		return stdout.String(), stderr.String()
	}
	const short = "sdttrace: tracing may be the greater part of the shortest latencies: "
	for _, flags := range [][]string{{"-v"}, {"-v", "--slower", "1ns"}} {
		_, said := measure(flags...)
		event := regexp.MustCompile(`(?m)^sdttrace: cost: (\d+(?: to \d+)?) ns per event: `).FindStringSubmatch(said)
		latency := regexp.MustCompile(`(?m)^sdttrace: cost: of each latency about (\d+(?: to \d+)?) ns are tracing, `).FindStringSubmatch(said)
		if event == nil || latency == nil || event[1] != latency[1] || strings.Contains(said, short) {
			t.Errorf("%v: the summary is %s", flags, said)
		}
	}
	out, said := measure("--show", "avg", "--json")
	var group struct{ Avg *float64 } // ns
	if err := json.Unmarshal([]byte(out), &group); err != nil || group.Avg == nil {
		t.Fatalf("%s, %v\n%s", out, err, said)
	}
	if got, want := strings.Contains(said, short), *group.Avg < 30000; got != want {
		t.Errorf("the average latency is %g ns, and the summary %s", *group.Avg, said)
	}
}
