package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/flagvalue"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/groups"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/output"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/remark"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
)

var latencyVerb = verb{
	use:   "latency START END",
	short: "Time from one probe to another, or the slow pairs",
	about: `latency measures the time from the probe START to the probe END in the kernel, and adds
it up, of all pairs or by --by. An END belongs to the last START that has none yet: of the
same goroutine in Go, of the same call of a function, or of the same thread; with --key, of
the same value of an argument. It shows count, sum, avg, min, max and a histogram, or what
--show names. --slower prints the pairs that took longer instead, with all arguments.`,
	examples: `  sdttrace latency myapp:request_start myapp:request_done --key id --by path
  sdttrace latency postgresql:query__start postgresql:query__done --slower 50ms   which statements
  sdttrace latency postgresql:query__start postgresql:query__done --by 'sql(query)' --show p50,p99
  sdttrace latency uprobe:./srv:handle uretprobe:./srv:handle     how long a function takes
  sdttrace latency a:sent b:received --key machine,id             between processes
  sdttrace latency a:b a:c --steps 0,10ms,500us --from day.usdt`,
	does: func(f *traceFlags) deed { return &latencies{sums: sums{traceFlags: f, value: "latency"}} },
}

// latencies measures the time from one probe to another.
type latencies struct {
	sums
	key    []string
	slower flagvalue.Threshold
	end    string
}

func (d *latencies) words(set wordSet) {
	set.add("key", &d.key)
	set.add("slower", &d.slower)
	set.add("show", &d.show.Names)
	set.add("quantiles", &d.show.Quantiles)
	set.add("hist", &d.show.Hist)
	set.add("steps", &d.show.Steps)
	d.grouping(set)
	set.add("limit", &d.limit)
	d.rest(set)
	set.add("max-string", &d.maxString)
	set.add("buffer", &d.ringSize)
}

func (d *latencies) take(args []string) ([]string, error) {
	if len(args) == 1 {
		args = session.SplitProbes(args[0])
	}
	switch {
	case len(args) > 2:
		return nil, fmt.Errorf("latency takes two probes, START and END: %s is one too many", args[2])
	case len(args) < 2 || args[0] == "" || args[1] == "":
		return nil, errors.New("name two probes: latency START END")
	}
	d.start, d.end = args[0], args[1]
	return args, nil
}

func (d *latencies) check([]string) error {
	if d.slower.Given {
		for _, name := range []string{"by", "show", "quantiles", "hist", "steps", "interval", "sort", "top", "max-groups"} {
			if d.given(name) {
				return fmt.Errorf("--slower prints pairs instead of adding them up: --%s does not go with it", name)
			}
		}
		return nil
	}
	for _, name := range []string{"limit", "max-string", "buffer"} {
		if d.given(name) {
			return fmt.Errorf("--%s is for the pairs of --slower: others are added up", name)
		}
	}
	return d.prepare(groups.Values{Names: []string{"sum", "avg", "min", "max"}, Hist: true})
}

func (d *latencies) open(ctx context.Context, probes []string, opts *attach.Options, to *showing) (session.Session, func() error, error) {
	if d.slower.Given {
		p, err := attach.OpenPairs(ctx, d.start, d.end, &attach.PairOptions{Key: d.key, Slower: d.slower.Duration}, opts)
		return p, func() error { return d.printSlow(p, to.stdout) }, err
	}
	l, err := attach.OpenLatency(ctx, d.start, d.end, &attach.LatencyOptions{
		Key: d.key, Bounds: d.shown.Bounds, Quantiles: d.shown.Percents, Stddev: slices.Contains(d.shown.Names, "stddev"), By: d.by, MaxGroups: d.maxGroups,
	}, opts)
	return l, func() error { return d.print(ctx, l, to) }, err
}

// conclude reports what became of the events.
func (d *latencies) conclude(s session.Session, stderr io.Writer) error {
	if p, ok := s.(*attach.Pairs); ok {
		return remark.SlowPairs(stderr, p, d.slower.Duration)
	}
	return remark.Pairs(stderr, s.(*attach.Latency))
}

// printSlow writes pairs until there are enough or no more.
func (f *latencies) printSlow(p *attach.Pairs, stdout io.Writer) error {
	out := bufio.NewWriterSize(stdout, 64<<10)
	var line []byte
	n := uint64(0)
	var first error // of a pair; later pairs follow
	for pair, err := range p.All() {
		if err != nil && (pair.Start.Probe == nil || pair.End.Probe == nil) {
			return errors.Join(err, out.Flush())
		}
		if first == nil {
			first = err
		}
		if f.output.Readable {
			f.meanings.Event(&pair.Start)
			f.meanings.Event(&pair.End)
		}
		line = f.output.Pair(line[:0], &pair)
		_, err := out.Write(line)
		// Fast pairs may be all that waits behind this one, unless the kernel drops them.
		if err == nil && (p.Via() != attach.ViaKernel || p.Idle()) {
			err = out.Flush()
		}
		if err != nil {
			return output.Error(err)
		}
		if n++; n == f.limit {
			break
		}
	}
	return errors.Join(first, output.Error(out.Flush()))
}
