package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/internal/systest/needs"
	systest "github.com/go-usdt/usdt/internal/systest/timeline"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestTimeline compares slices, instants, flows and counters with what the program says of
// the pairs that it fires, by all ways in which events come.
func TestTimeline(t *testing.T) {
	eachPairing(t, "timeline", func(p *pairing) {
		open, shut := p.provider+":open", p.provider+":shut"
		ways := [][]string{nil}
		if !p.user && p.crash == "" {
			ways = append(ways, []string{"--link", "perf"})
		}
		for _, way := range ways {
			path := filepath.Join(p.t.TempDir(), "trace")
			_, said, all := p.run(2, append([]string{"timeline", "-o", path, "--span", open + "," + shut + ":id", "--span", open + "," + shut,
				"--flow", "id", "--counter", "code", shut}, way...)...)
			trace := systest.ReadFile(p.t, path)
			p.checkSlices(trace, all)

			var wantCodes []float64
			var want []string
			for _, one := range all {
				// The ends of both slices also have the argument.
				wantCodes = append(wantCodes, float64(one.Code), float64(one.Code), float64(one.Code))
				want = append(want, fmt.Sprint(one.ID, " ", one.Code))
			}
			codes := trace.Counters[fmt.Sprint(p.program.PID(), " ", shut, " code")]
			if d := cmp.Diff(wantCodes, codes); d != "" {
				p.t.Errorf("%v: counter (-want +got):\n%s", way, d)
			}
			var got []string
			for _, s := range trace.Named(shut) {
				if !s.Instant || s.PID != p.program.PID() || (s.TID != 0) != (!p.user && p.crash == "") {
					p.t.Errorf("%v: an end is %+v", way, s)
				}
				got = append(got, fmt.Sprint(s.Args["id"], " ", s.Args["code"]))
			}
			if d := cmp.Diff(want, got); d != "" {
				p.t.Errorf("%v: instants (-want +got):\n%s", way, d)
			}
			if name := trace.Processes[p.program.PID()]; name != "paired" {
				p.t.Errorf("%v: the process is called %q", way, name)
			}
			wantClock := uint64(6)
			if p.crash != "" {
				wantClock = 1 // recordings may be of an earlier start of the machine
			}
			if age := time.Since(trace.Wall(trace.Slices[0])); age < 0 || age > time.Hour || trace.Clock != wantClock {
				p.t.Errorf("%v: the first event is %v old by clock %d, want %d", way, age, trace.Clock, wantClock)
			}
			for _, line := range []string{open + "," + shut + ":id: %d pairs\n", open + "," + shut + ": %d pairs\n"} {
				if line = fmt.Sprintf(line, len(all)); !strings.Contains(said, line) {
					p.t.Errorf("%v: sdttrace says %q, want %q", way, said, line)
				}
			}
			if want := fmt.Sprintf("sdttrace: %d events, 0 lost,", 2*len(all)); !strings.Contains(said, want) {
				p.t.Errorf("%v: sdttrace says %q, want %q", way, said, want)
			}
		}
	})
}

// checkSlices compares slices with what the program says of its pairs.
func (p *pairing) checkSlices(trace *systest.Trace, all []truth) {
	p.t.Helper()
	rest := slices.Clone(all)
	matched := 0
	for _, s := range trace.Slices {
		if s.Instant {
			continue
		}
		if s.Open || s.Depth != 0 || s.PID != p.program.PID() || s.TID != 0 || s.Name != p.provider+":open to shut" {
			p.t.Errorf("a slice is %+v, want one of goroutines", s)
		}
		at := slices.IndexFunc(rest, func(one truth) bool {
			return s.Args["id"] == one.ID && s.Args["path"] == one.Path && s.Args["code"] == int64(one.Code) &&
				int64(s.Took) >= one.Inner-p.rough(one.Inner) && int64(s.Took) <= one.Outer+p.rough(one.Outer)
		})
		if at >= 0 { // those of the goroutine pair others where pairs interleave
			rest = slices.Delete(rest, at, at+1)
			matched++
		}
	}
	if len(rest) > 0 {
		p.t.Errorf("the program says %+v, of which there is no slice", rest)
	}
	// An arrow leads from slice to slice of the same id, and to the instant of its end.
	for _, f := range trace.Flows {
		if f[0].Args["id"] != f[1].Args["id"] {
			p.t.Errorf("an arrow leads from %v to %v", f[0].Args, f[1].Args)
		}
	}
	ids := map[any]int{}
	for _, s := range trace.Slices {
		ids[s.Args["id"]]++
	}
	want := 0
	for _, n := range ids {
		want += n - 1
	}
	if len(trace.Flows) != want || want == 0 {
		p.t.Errorf("%d arrows, want %d", len(trace.Flows), want)
	}
}

// TestRecordedTimeline makes a timeline of events that sdttrace record has written to a file.
func TestRecordedTimeline(t *testing.T) {
	eachPairing(t, "recorded_timeline", func(p *pairing) {
		if p.crash != "" {
			return // a flight recorder's file is such a one
		}
		dir := p.t.TempDir()
		events, path := filepath.Join(dir, "events"), filepath.Join(dir, "trace")
		open, shut := p.provider+":open", p.provider+":shut"
		_, _, all := p.run(2, "record", "-o", events, open, shut)
		out, err := exec.Command(filepath.Join(p.dir, "sdttrace"), "timeline", "-o", path, "--from", events, "--span", open+","+shut+":id", "--flow", "id").CombinedOutput()
		if err != nil {
			p.t.Fatalf("%v: %s", err, out)
		}
		trace := systest.ReadFile(p.t, path)
		p.checkSlices(trace, all)
		if trace.Clock != 1 || len(trace.Slices) != len(all) {
			p.t.Errorf("%d slices by clock %d, want %d by the wall clock", len(trace.Slices), trace.Clock, len(all))
		}
	})
}

// TestTimelineKilled kills sdttrace while it writes, and reads what is there.
func TestTimelineKilled(t *testing.T) {
	dir := commands(t, "sdttrace", "traced")
	traced := exec.Command(filepath.Join(dir, "traced"), "-")
	traced.Env = append(os.Environ(), "PROVIDER=timeline_killed")
	program := tracee.StartVictim(t, traced).Ready()
	path := filepath.Join(t.TempDir(), "trace")
	var stderr tracee.Output
	cmd := exec.Command(filepath.Join(dir, "sdttrace"), "timeline", "-p", fmt.Sprint(program.PID()), "-o", path, "--stack",
		"--span", "timeline_killed_pair:begin,timeline_killed_pair:end:seq", "timeline_killed:tick")
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	stderr.AwaitTrying(t, "attached to", func() { skipRefused(t, &stderr) })
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if info, err := os.Stat(path); err == nil && info.Size() > 20_000 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("there is no trace: %s", &stderr)
		}
	}
	cmd.Process.Signal(syscall.SIGKILL)
	cmd.Wait()
	trace := systest.ReadKilled(t, path)
	ticks := trace.Named("timeline_killed:tick")
	if len(ticks) < 10 || len(trace.Named("timeline_killed_pair:begin to end")) < 10 {
		t.Fatalf("%d ticks and %d pairs", len(ticks), len(trace.Slices)-len(ticks))
	}
	for i, s := range ticks[1:] {
		if s.Args["seq"] != ticks[i].Args["seq"].(uint64)+1 {
			t.Errorf("tick %v follows %v", s.Args, ticks[i].Args)
		}
		if s.PID != program.PID() || s.TID == 0 || len(s.Stack) == 0 || !strings.Contains(s.Stack[0], ".traced (") {
			t.Errorf("tick %v has the calls %q, in thread %d", s.Args, s.Stack, s.TID)
		}
	}
}

// TestTimelineLost stops sdttrace while probes fire, so that events are lost: a track of the
// timeline says how many were lost, and when.
func TestTimelineLost(t *testing.T) {
	dir := commands(t, "sdttrace", "traced")
	startTraced(t, dir, "lostline")
	path := filepath.Join(t.TempDir(), "trace")
	cmd := exec.Command(filepath.Join(dir, "sdttrace"), "timeline", "-o", path, "--buffer", "4K", "lostline*:*")
	var stderr tracee.Output
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	stderr.AwaitTrying(t, "Ctrl-C ends", func() { skipRefused(t, &stderr) })
	cmd.Process.Signal(syscall.SIGSTOP)
	// Another tracer sees more than fits into the buffer.
	needs.Run(t, filepath.Join(dir, "sdttrace"), "-q", "-o", os.DevNull, "--limit", "200", "lostline:tick")
	cmd.Process.Signal(syscall.SIGCONT)
	cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ends with %v", err)
	}
	said := stderr.String()
	var events, lost, told uint64
	if i := strings.LastIndex(said, "\nsdttrace: "); i < 0 {
		t.Fatal(said)
	} else if _, err := fmt.Sscanf(said[i:], "\nsdttrace: %d events, %d lost", &events, &lost); err != nil || lost == 0 {
		t.Fatalf("%v: %s", err, said)
	}
	trace := systest.ReadFile(t, path)
	for _, s := range trace.Named("events lost") {
		n, ok := s.Args["events"].(uint64)
		if !ok {
			t.Errorf("a loss is of %T", s.Args["events"])
		}
		told += n
		if s.Open || s.Instant || s.Took < 0 {
			t.Errorf("a loss is %+v", s)
		}
	}
	if told != lost {
		t.Errorf("the timeline says that %d events were lost, sdttrace %d", told, lost)
	}
}
