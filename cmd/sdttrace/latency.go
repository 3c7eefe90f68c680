package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-usdt/usdt/attach"
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
	slower threshold
	end    string
}

func (d *latencies) words(set wordSet) {
	set.add("key", &d.key)
	set.add("slower", &d.slower)
	set.add("show", &d.show.names)
	set.add("quantiles", &d.show.quantiles)
	set.add("hist", &d.show.hist)
	set.add("steps", &d.show.steps)
	d.grouping(set)
	set.add("limit", &d.limit)
	d.rest(set)
	set.add("max-string", &d.maxString)
	set.add("buffer", &d.ringSize)
}

func (d *latencies) take(args []string) ([]string, error) {
	if len(args) == 1 {
		args = splitProbes(args[0])
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
	if d.slower.given {
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
	return d.prepare(values{names: []string{"sum", "avg", "min", "max"}, hist: true})
}

func (d *latencies) open(ctx context.Context, probes []string, opts *attach.Options, to *showing) (session, func() error, error) {
	if d.slower.given {
		p, err := attach.OpenPairs(ctx, d.start, d.end, &attach.PairOptions{Key: d.key, Slower: d.slower.Duration}, opts)
		return p, func() error { return d.printSlow(p, to.stdout) }, err
	}
	l, err := attach.OpenLatency(ctx, d.start, d.end, &attach.LatencyOptions{
		Key: d.key, Bounds: d.shown.bounds, Quantiles: d.shown.percents, Stddev: slices.Contains(d.shown.names, "stddev"), By: d.by, MaxGroups: d.maxGroups,
	}, opts)
	return l, func() error { return d.print(ctx, l, to) }, err
}

// splitProbes cuts at commas outside the parameters of functions and templates.
func splitProbes(s string) []string {
	var parts []string
	start, depth := 0, 0
	for i, c := range []byte(s) {
		switch {
		case c == '(' || c == '<':
			depth++
		case (c == ')' || c == '>') && depth > 0:
			depth--
		case c == ',' && depth == 0:
			parts, start = append(parts, s[start:i]), i+1
		}
	}
	return append(parts, s[start:])
}

// nesting is how many starts of one key may wait, see [attach.PairStats].
const nesting = 32

// conclude reports what became of the events.
func (d *latencies) conclude(s tracer, stderr io.Writer) error {
	if p, ok := s.(*attach.Pairs); ok {
		return printPairCounts(stderr, p, d.slower.Duration)
	}
	return printLatencyPairs(stderr, s.(*attach.Latency))
}

// printLatencyPairs reports what became of the events of a latency.
func printLatencyPairs(stderr io.Writer, l *attach.Latency) error {
	p, err := l.Pairs()
	if err != nil {
		return err
	}
	return printUnpaired(stderr, fmt.Sprintf("%d pairs", p.Pairs), &p)
}

// printUnpaired reports what pairs there were, and what became of other starts and ends.
func printUnpaired(stderr io.Writer, pairs string, p *attach.PairStats) error {
	_, err := fmt.Fprintf(stderr, "sdttrace: %s, %d filtered by --where; %d starts without an end, %d ends without a start; %d starts evicted because the table was full, %d because more than %d nested\n",
		pairs, p.Dropped, p.Pending, p.Unstarted, p.Evicted, p.TooDeep, nesting)
	if err == nil && p.Torn > 0 {
		_, err = fmt.Fprintf(stderr, "sdttrace: %d more pairs are left out: events between start and end were lost, or fired before their probes were found, so that start and end need not belong together\n", p.Torn)
	}
	return err
}
