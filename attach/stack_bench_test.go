package attach_test

import (
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// It fires with more than 20 calls on the stack.
func init() {
	roles["fire-deep"] = tracee.Obey(fireChild("benchdeep", func(fire func()) { deeper(30, fire) }))
}

//go:noinline
func deeper(n int, run func()) {
	if n > 0 {
		deeper(n-1, run)
		return
	}
	run()
}

// stackWays are who reads 20 calls of a program at each event: sessions as events and as groups,
// bpftrace as text and as groups. All read 28 addresses, since up to eight are of package
// provider, which sessions leave out.
var stackWays = map[string]func(t testing.TB, p *tracee.Program, events int) (delivered int, fired, read time.Duration){
	"session": stacksToSession,
	"groups":  stacksToGroups,
	"bpftrace-printed": func(t testing.TB, p *tracee.Program, events int) (delivered int, fired, read time.Duration) {
		return stacksToBpftrace(t, p, events, `printf("%s 7\n", ustack(28))`)
	},
	"bpftrace-groups": func(t testing.TB, p *tracee.Program, events int) (delivered int, fired, read time.Duration) {
		return stacksToBpftrace(t, p, events, `@[ustack(28)] = count()`)
	},
}

// BenchmarkStacks measures what stacks of 20 calls cost the program whose they are, and how many
// of a flood of them arrive per second, by turns with bpftrace.
func BenchmarkStacks(b *testing.B) {
	if _, err := exec.LookPath("bpftrace"); err != nil {
		needs.Skip(b, "needs bpftrace: %v", err)
	}
	const events, rounds = 100_000, 3
	p := startChild(b, "fire-deep")
	p.Do("load")
	costs, rates := map[string][]float64{}, map[string][]float64{}
	for b.Loop() {
		for range rounds {
			for name, read := range stackWays {
				n, fired, all := read(b, p, events)
				costs[name] = append(costs[name], float64(fired)/events)
				rates[name] = append(rates[name], float64(n)/all.Seconds())
			}
		}
	}
	median := func(of []float64) float64 {
		slices.Sort(of)
		return of[len(of)/2]
	}
	for name := range stackWays {
		b.ReportMetric(median(costs[name]), name+"-ns/event")
	}
	b.ReportMetric(median(rates["session"]), "session-stacks/s")
	b.ReportMetric(median(rates["bpftrace-printed"]), "bpftrace-stacks/s")
	b.ReportMetric(median(costs["session"])/median(costs["bpftrace-printed"]), "cost:session/bpftrace")
	b.ReportMetric(median(costs["groups"])/median(costs["bpftrace-groups"]), "cost:groups/bpftrace")
	b.ReportMetric(median(rates["session"])/median(rates["bpftrace-printed"]), "rate:session/bpftrace")
	b.ReportMetric(0, "ns/op")
}

// stacksToSession returns how many events arrive with their frames named, how long firing them
// takes, and how long it is until the last one is read.
func stacksToSession(t testing.TB, p *tracee.Program, events int) (delivered int, fired, read time.Duration) {
	s := openEvents(t, "benchdeep:three", &attach.EventOptions{RingSize: 64 << 20}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Stack: 20})
	defer s.Close()
	received := make(chan int)
	go func() {
		n := 0
		for ev, err := range s.Events() {
			if err == nil && len(ev.Stack.PCs) == 20 && len(ev.Stack.Frames()) >= 20 {
				n++
			}
		}
		received <- n
	}()
	start := time.Now()
	p.Do("%d", events)
	fired = time.Since(start)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	delivered = <-received
	return delivered, fired, time.Since(start)
}

// stacksToGroups is stacksToSession for groups, whose events are all of one stack.
func stacksToGroups(t testing.TB, p *tracee.Program, events int) (delivered int, fired, read time.Duration) {
	o := &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Stack: 20}
	a := openAggregate(t, []string{"benchdeep:three"}, attach.Count().By("stack"), o)
	defer a.Close()
	start := time.Now()
	p.Do("%d", events)
	fired = time.Since(start)
	groups := readGroups(t, a)
	if len(groups) != 1 || groups[0].Count != uint64(events) {
		t.Fatalf("%d groups, want one of %d events", len(groups), events)
	}
	return events, fired, time.Since(start)
}

// stacksToBpftrace is stacksToSession for a program of bpftrace. It returns the lines that it
// prints, and no fewer than one.
func stacksToBpftrace(t testing.TB, p *tracee.Program, events int, action string) (delivered int, fired, read time.Duration) {
	program := `usdt:*:benchdeep:three { if (arg2 == 8) { printf("warm 8\n"); } else { ` + action + `; } }`
	// The cache saves it from reading the symbols of the program anew for each stack.
	delivered, fired, read = readBpftrace(t, p, events, program, 64<<20, "BPFTRACE_CACHE_USER_SYMBOLS=1")
	return max(delivered, 1), fired, read
}
