package remark

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/cost"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/format"
	"github.com/go-usdt/usdt/internal/traps"
	"github.com/go-usdt/usdt/reader"
)

const (
	// hotShare is which share of a processor, or of the CPU time that its programs take, the traps
	// of a function may take before it is worth a warning.
	hotShare = 0.2
	// hotLeast is which share of a processor they take at least: where others keep the processors
	// busy, a program has little of them, and one that sleeps may waste what it takes.
	hotLeast = 0.02
	// hotRate is how many events a second are looked at for that: a trap takes 40 microseconds
	// nowhere.
	hotRate = 500
	// hotTime is for how long functions are counted to find that out.
	hotTime = 100 * time.Millisecond
)

// Hot counts functions for a moment, and warns of functions that are called so
// often that tracing each call slows programs down. If a function cannot be counted,
// the session that follows says why. sample reports whether there is a flag --sample.
func Hot(ctx context.Context, stderr io.Writer, probes []string, opts *attach.Options, sample bool) {
	var functions []string
	for _, p := range probes {
		if strings.HasPrefix(p, "uprobe:") || strings.HasPrefix(p, "uretprobe:") {
			functions = append(functions, p)
		}
	}
	if len(functions) == 0 || opts.Target.Via == attach.ViaLocal || opts.Target.Via == attach.ViaRecording {
		return
	}
	count := &attach.Options{Target: opts.Target, Force: opts.Force, Link: opts.Link}
	a, err := attach.OpenAggregate(ctx, functions, attach.Count().By("probe"), count)
	if err != nil {
		return
	}
	begin, before := time.Now(), cost.CPU(opts.Target.PIDs, a.Plan())
	select {
	case <-ctx.Done():
	case <-a.Done():
	case <-time.After(hotTime):
	}
	used := cost.CPU(opts.Target.PIDs, a.Plan()) // before the programs are fast again
	stopped := a.Stop()
	took := time.Since(begin)
	groups, err := a.Read()
	if closed := a.Close(); stopped != nil || err != nil || closed != nil {
		return
	}
	measure, err := traps.New()
	if err != nil {
		return
	}
	defer measure.Close()
	for i := range groups {
		name := fmt.Sprint(groups[i].By[0].Value)
		rate := float64(groups[i].Count) / took.Seconds()
		if rate < hotRate {
			continue
		}
		named := func(p *reader.Probe) bool { return format.KindPrefix(p)+p.Provider+":"+p.Name == name }
		_, each, err := measure.Sites(ctx, a.Plan(), named)
		if err != nil {
			continue
		}
		heat := heat{rate: rate, each: each}
		for pid := range cost.CPU(slices.Collect(maps.Keys(used)), sitesOf(a.Plan(), named)) {
			if t, ok := before[pid]; ok {
				heat.used += (used[pid] - t).Seconds() / took.Seconds()
			}
		}
		if said := heat.say(sample); said != "" {
			fmt.Fprintf(stderr, "sdttrace: %v is %s\n", name, said)
		}
	}
}

// sitesOf returns the sites of a plan whose probe is wanted.
func sitesOf(plan attach.Plan, wanted func(*reader.Probe) bool) (sites attach.Plan) {
	for i := range plan {
		if wanted(&plan[i].Probe) {
			sites = append(sites, plan[i])
		}
	}
	return sites
}

// heat is what the traps of a function cost.
type heat struct {
	rate float64 // calls in a second
	each time.Duration
	used float64 // processors that its programs take, with the traps; 0 if it is not known
}

// say returns the warning, nothing if none is worth it.
func (h heat) say(sample bool) string {
	share, own := h.rate*h.each.Seconds(), 0.0
	if h.used > 0 {
		own = min(1, share/h.used)
	}
	if share <= hotShare && (share < hotLeast || own <= hotShare) {
		return ""
	}
	advice := "most of that is the trap into the kernel, which only a short --duration, such as 100ms, bounds"
	if sample {
		advice = fmt.Sprintf("--sample %d records one in so many, but all trap into the kernel; a short --duration, such as 100ms, bounds both", sampleFor(h.rate))
	}
	percent := func(share float64) []byte { return format.AppendShort(nil, 100*share, 2) }
	ofOwn := ""
	switch {
	case own >= manyTimes:
		ofOwn = fmt.Sprintf(" and %s %% of the CPU time of its program, which runs many times slower", percent(own))
	case own > 0:
		ofOwn = fmt.Sprintf(" and %s %% of the CPU time of its program", percent(own))
	}
	return fmt.Sprintf("called %s times a second, and each call costs its program %d ns, in all %s %% of a processor%s: %s",
		format.AppendShort(nil, h.rate, 3), h.each.Nanoseconds(), percent(share), ofOwn, advice)
}

// manyTimes is the share of its CPU time from which on a program is a few times slower at least: it
// does its work in the rest.
const manyTimes = 0.75

// HotShort is the greatest duration that needs no such warning, since a short one is the advice.
const HotShort = 2 * hotTime

// sampleFor returns N of --sample N that leaves about a thousand events a second: a
// power of ten.
func sampleFor(rate float64) int {
	n := 1
	for rate/float64(n) > 3000 {
		n *= 10
	}
	return n
}
