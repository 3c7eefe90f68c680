package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/provider"
)

// costLine is what -v says of the cost.
var costLine = regexp.MustCompile(`(?m)^sdttrace: cost: (\d+) ns per event: (\d+) ns for the trap into the kernel, as measured on this machine, and (\d+) ns in sdttrace's programs; (\d+) events took ([^\s,]+)(?:, [\d.]+ % of the \S+ of CPU time that the processes with these probes took)?$`)

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
		if code := run(t.Context(), args, &stdout, &stderr); code != exitDone {
			t.Fatalf("%q: exit code %d: %s", flags, code, &stderr)
		}
		said := costLine.FindStringSubmatch(stderr.String())
		fired := regexp.MustCompile(`(?m)^sdttrace: (\d+) fired: \d+ received, `).FindStringSubmatch(stderr.String())
		if said == nil || fired == nil {
			t.Fatalf("%q: the summary is %s", flags, &stderr)
		}
		all, _ := strconv.Atoi(said[1])
		trap, _ := strconv.Atoi(said[2])
		each, _ := strconv.Atoi(said[3])
		if said[4] != fired[1] || len(said[4]) < 3 || each < 10 || trap < 100 || all < trap+each-1 || all > trap+each+1 {
			t.Errorf("%q: %d ns per event, %d of the trap and %d of the program, in %s runs, of %s events", flags, all, trap, each, said[4], fired[1])
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

// TestCostOfFunctions compares what -v says of the calls of a function with how much slower the
// program is: by its own CPU time, at an instruction that kernels emulate and at one of which they
// execute a copy, at the entry and at the return.
func TestCostOfFunctions(t *testing.T) {
	needs.Root(t)
	sdttrace := filepath.Join(commands(t, "sdttrace"), "sdttrace")
	program := needs.Compile(t, "testdata/calls.c", "gcc", "-O1")
	for _, kind := range []string{"uprobe", "uretprobe"} {
		for _, function := range []string{"nothing", "pushes", "copied"} {
			args := []string{"count", "-v", "--force", kind + ":" + program + ":" + function, "--", program, function, "20000"}
			out, err := exec.Command(sdttrace, args...).CombinedOutput()
			own := regexp.MustCompile(`(?m)^calls: (\d+) ns each`).FindStringSubmatch(string(out))
			said := costLine.FindStringSubmatch(string(out))
			if err != nil || own == nil || said == nil {
				t.Fatalf("%q: %v: %s", args, err, out)
			}
			slower, _ := strconv.Atoi(own[1])
			cost, _ := strconv.Atoi(said[1])
			t.Logf("%s of %s: a call takes %d ns, said to be %d", kind, function, slower, cost)
			if cost < slower/3 || cost > 3*slower {
				t.Errorf("%s of %s: a call takes %d ns, and is said to cost %d", kind, function, slower, cost)
			}
		}
	}
}
