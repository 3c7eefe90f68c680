package main

import (
	"encoding/json"
	"fmt"

	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// pairing is a program that fires pairs, and a way to trace it.
type pairing struct {
	t        *testing.T
	program  *tracee.Program
	provider string
	dir      string // of commands
	crash    string // of recordings; empty to trace what is live
	user     bool
}

// eachPairing runs a test by the kernel, through shared memory, and with what a flight
// recorder has kept. Each has a program of its own.
func eachPairing(t *testing.T, provider string, test func(p *pairing)) {
	dir := commands(t, "sdttrace", "paired")
	for _, way := range []string{"kernel", "user", "replay"} {
		t.Run(way, func(t *testing.T) {
			p := &pairing{t: t, dir: dir, provider: provider + "_" + way, user: way == "user"}
			cmd := exec.Command(filepath.Join(dir, "paired"))
			cmd.Env = append(os.Environ(), "PROVIDER="+p.provider)
			switch way {
			case "user":
				cmd.Env = append(cmd.Env, "USDT_LOCAL=1")
			case "replay":
				p.crash = t.TempDir()
				if err := os.Chmod(p.crash, 0o700); err != nil {
					t.Fatal(err)
				}
				cmd.Env = append(cmd.Env, "USDT_RECORDER="+p.crash+",1M")
			}
			p.program = tracee.StartVictim(t, cmd).Ready()
			test(p)
		})
	}
}

// rough is how far times may be off: those of recordings are of the CPU's counter, whose rate
// the file does not know exactly.
func (p *pairing) rough(d int64) int64 {
	if p.crash == "" {
		return 0
	}
	return 1000 + d/1000
}

// trace runs sdttrace on the program's probes while it fires times rounds of pairs, and
// returns the lines that sdttrace printed and the truth.
func (p *pairing) trace(rounds int, flags ...string) (lines []string, said string, all []truth) {
	p.t.Helper()
	return p.run(rounds, append([]string{"latency", p.provider + ":open", p.provider + ":shut", "--json"}, flags...)...)
}

// run is like trace, with these arguments beside the ones that name the program.
func (p *pairing) run(rounds int, args ...string) (lines []string, said string, all []truth) {
	p.t.Helper()
	fire := func() {
		for range rounds {
			var more []truth
			if err := json.Unmarshal([]byte(p.program.Do("fire")), &more); err != nil {
				p.t.Fatal(err)
			}
			all = append(all, more...)
		}
	}
	var stdout, stderr tracee.Output
	switch {
	case p.crash != "":
		fire()
		args = append(args, "--from", p.crash)
	case p.user:
		args = append(args, "--user", "-p", fmt.Sprint(p.program.PID()))
	default:
		args = append(args, "-p", fmt.Sprint(p.program.PID()))
	}
	cmd := exec.Command(filepath.Join(p.dir, "sdttrace"), args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	if p.crash == "" {
		stderr.Await(p.t, "attached to")
		skipRefused(p.t, &stderr)
		fire()
		cmd.Process.Signal(os.Interrupt)
	}
	if err := cmd.Wait(); err != nil {
		p.t.Fatalf("%v: %s", err, &stderr)
	}
	for line := range strings.Lines(stdout.String()) {
		lines = append(lines, line)
	}
	return lines, stderr.String(), all
}

// TestHanging has starts without an end, which --slower shows last: with how long they have waited,
// and their arguments.
func TestHanging(t *testing.T) {
	eachPairing(t, "hanging", func(p *pairing) {
		verb := []string{"latency", p.provider + ":shut", p.provider + ":open", "--key", "id", "--slower", "1ns"}
		want := []string{"1", "2", "3", "4", "5", "5", "5", "6"}
		if p.crash != "" {
			want = want[:7] // the last one fired at the end of the recording
		}
		lines, said, _ := p.run(1, append(verb, "--json")...)
		var got []string
		for _, line := range lines {
			var pair struct {
				Latency int64
				Start   struct{ Args struct{ ID int } }
				End     *struct{}
			}
			if err := json.Unmarshal([]byte(line), &pair); err != nil || pair.Latency <= 0 || pair.End != nil {
				t.Errorf("%v: %s", err, line)
			}
			got = append(got, fmt.Sprint(pair.Start.Args.ID))
		}
		if d := cmp.Diff(want, got); d != "" || !strings.Contains(said, fmt.Sprintf("sdttrace: %d starts have waited longer than 1ns without an end\n", len(want))) {
			t.Errorf("starts that have not ended (-want +got):\n%s\n%s", d, said)
		}
		if p.crash == "" {
			return // the next run would see only what fires in it
		}
		lines, _, _ = p.run(0, append(verb, "--top", "2")...)
		if len(lines) != 2 || !strings.Contains(lines[0], " latency>") || !strings.HasSuffix(lines[0], ":shut id=1 code=200 -> has not ended\n") {
			t.Errorf("the two that have waited longest are %q", lines)
		}
		lines, _, _ = p.run(0, append(verb, "--fields", "latency,id,path")...)
		if len(lines) != 7 || !strings.HasPrefix(lines[0], "latency=>") || strings.Contains(lines[0], "path") {
			t.Errorf("parts of them are %q", lines)
		}
	})
}

// TestGroupedLatencies compares groups of latencies with what the program says, by the key
// that its probes have and by the goroutine, which both match pairs within pairs.
func TestGroupedLatencies(t *testing.T) {
	eachPairing(t, "grouped", func(p *pairing) {
		type group struct {
			By    map[string]any
			Count int
			Sum   int64
			Min   int64
			Max   int64
			Hist  []struct{ N int }
		}
		for _, by := range []string{"path", "path,code"} {
			lines, said, all := p.trace(3, "--key", "id", "--by", by)
			want := map[string][]truth{}
			name := func(path, code any) string {
				if by == "path" {
					return fmt.Sprint(path)
				}
				return fmt.Sprint(path, code)
			}
			for _, one := range all {
				want[name(one.Path, one.Code)] = append(want[name(one.Path, one.Code)], one)
			}
			got := map[string]int{}
			for _, line := range lines {
				var g group
				if err := json.Unmarshal([]byte(line), &g); err != nil {
					t.Fatalf("%v: %s", err, line)
				}
				key := name(g.By["path"], g.By["code"])
				got[key] = g.Count
				var inner, outer int64
				for _, one := range want[key] {
					inner, outer = inner+one.Inner, outer+one.Outer
				}
				n := 0
				for _, b := range g.Hist {
					n += b.N
				}
				if g.Sum < inner-p.rough(inner) || g.Sum > outer+p.rough(outer) || n != g.Count || g.Min > g.Max {
					p.t.Errorf("--by %s: %s has %d pairs, %v in all, and %d in its histogram; the program says from %v to %v", by, key, g.Count, time.Duration(g.Sum), n, time.Duration(inner), time.Duration(outer))
				}
			}
			wantCounts := map[string]int{}
			for key, all := range want {
				wantCounts[key] = len(all)
			}
			if d := cmp.Diff(wantCounts, got); d != "" {
				p.t.Errorf("--by %s: counts (-want +got):\n%s%s", by, d, said)
			}
			if p.crash != "" {
				break // the file also keeps what was fired before
			}
		}
	})
}

// TestSlower compares the pairs that took long with what the program says of each: by the key
// that its probes have, by the goroutine, and with a condition.
func TestSlower(t *testing.T) {
	const slower = 30 * time.Millisecond
	type fired struct {
		Name string
		Args struct {
			ID   uint64
			Path string
			Code int
		}
	}
	eachPairing(t, "slower", func(p *pairing) {
		var before []truth // which the recorder has also kept
		for _, flags := range [][]string{
			{"--key", "id"},
			{"--key", "id", "--where", `path != "/middle" && code != 404`},
			{"--key", "id", "--slower", "0s"},
		} {
			if !slices.Contains(flags, "--slower") {
				flags = append(flags, "--slower", slower.String())
			}
			lines, said, all := p.trace(2, flags...)
			if p.crash != "" {
				before = append(before, all...)
				all = before
			}
			if slices.Contains(flags, "--where") {
				all = slices.DeleteFunc(slices.Clone(all), func(one truth) bool { return one.Path == "/middle" || one.Code == 404 })
			}
			every := slices.Contains(flags, "0s")
			slow := 0
			for _, one := range all {
				if every || time.Duration(one.Inner) > slower {
					slow++
				}
			}
			if slow < 2 { // the one that takes 60 ms, twice
				p.t.Errorf("%v: the program says that %d pairs were slow", flags, slow)
			}
			next := 0
			for _, line := range lines {
				var pair struct {
					Latency    int64
					Start, End fired
				}
				if err := json.Unmarshal([]byte(line), &pair); err != nil {
					p.t.Fatalf("%v: %s", err, line)
				}
				is := func(one truth) bool {
					return one.ID == pair.Start.Args.ID && one.Path == pair.Start.Args.Path && one.Code == pair.End.Args.Code && one.ID == pair.End.Args.ID
				}
				for next < len(all) && !is(all[next]) {
					if one := all[next]; every || time.Duration(one.Inner) > slower {
						p.t.Errorf("%v: %+v is not printed", flags, one)
					}
					next++
				}
				if next == len(all) {
					p.t.Fatalf("%v: the program says nothing of %s", flags, line)
				}
				one := all[next]
				if next++; pair.Latency < one.Inner-p.rough(one.Inner) || pair.Latency > one.Outer+p.rough(one.Outer) || pair.Start.Name != "open" || pair.End.Name != "shut" {
					p.t.Errorf("%v: the program says %+v of %s", flags, one, line)
				}
				if !every && time.Duration(one.Outer) <= slower {
					p.t.Errorf("%v: %+v is printed, and took no longer than %v", flags, one, slower)
				}
			}
			for _, one := range all[next:] {
				if every || time.Duration(one.Inner) > slower {
					p.t.Errorf("%v: %+v is not printed", flags, one)
				}
			}
			want := fmt.Sprintf("sdttrace: %d slow ones of %d pairs", len(lines), len(all))
			if every {
				want = fmt.Sprintf("sdttrace: %d pairs", len(all))
			}
			if !strings.Contains(said, want) || !strings.Contains(said, fmt.Sprintf("; %d events, 0 lost, ", 2*len(lines))) {
				p.t.Errorf("%v: sdttrace said %q, want %q, and twice as many events as pairs printed", flags, said, want)
			}
		}
	})
}
