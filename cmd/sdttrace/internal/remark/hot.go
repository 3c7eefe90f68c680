package remark

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/bench"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/cost"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/format"
	"github.com/go-usdt/usdt/reader"
)

const (
	// hotShare is which share of a processor the traps of a function may take before it is worth
	// a warning.
	hotShare = 0.2
	// hotRate is how many events a second are looked at for that: a trap takes 40 microseconds
	// nowhere.
	hotRate = 5_000
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
	begin := time.Now()
	select {
	case <-ctx.Done():
	case <-a.Done():
	case <-time.After(hotTime):
	}
	stopped := a.Stop()
	took := time.Since(begin)
	groups, err := a.Read()
	if closed := a.Close(); stopped != nil || err != nil || closed != nil {
		return
	}
	traps, err := bench.NewTraps()
	if err != nil {
		return
	}
	defer traps.Close()
	for i := range groups {
		name := fmt.Sprint(groups[i].By[0].Value)
		rate := float64(groups[i].Count) / took.Seconds()
		if rate < hotRate {
			continue
		}
		_, each, err := cost.Traps(ctx, traps, a.Plan(), func(p *reader.Probe) bool {
			return format.KindPrefix(p)+p.Provider+":"+p.Name == name
		})
		if share := rate * each.Seconds(); err == nil && share > hotShare {
			advice := "most of that is the trap into the kernel, which only a short --duration, such as 100ms, bounds"
			if sample {
				advice = fmt.Sprintf("--sample %d records one in so many, which saves the recording but not the trap into the kernel; a short --duration, such as 100ms, bounds both", sampleFor(rate))
			}
			fmt.Fprintf(stderr, "sdttrace: %v is called %s times a second, and each call costs its program %d ns, in all %s %% of a processor: %s\n",
				name, format.AppendShort(nil, rate, 3), each.Nanoseconds(), format.AppendShort(nil, 100*share, 2), advice)
		}
	}
}

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
