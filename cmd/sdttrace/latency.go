package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-usdt/usdt/attach"
)

// latencyProbes returns the two probes of --latency. The argument holds the other
// probes of the command line.
func (f *aggregateFlags) latencyProbes(probes []string) ([]string, error) {
	for _, other := range []string{f.sum, f.avg, f.min, f.max, f.hist} {
		if f.count || other != "" {
			return nil, errors.New("--latency computes all values itself: only --key, --lhist, --quantiles, --stddev, --by and how groups are printed go with it")
		}
	}
	if f.stddev != "" && f.stddev != "latency" {
		return nil, fmt.Errorf("--stddev %s: with --latency the only value is latency", f.stddev)
	}
	if err := f.checkSlower(); err != nil {
		return nil, err
	}
	if f.lhist != "" && !strings.HasPrefix(f.lhist, "latency,") {
		return nil, fmt.Errorf("--lhist %s: with --latency the only value is latency, e.g. --lhist latency,0,10ms,500us", f.lhist)
	}
	if len(probes) > 0 {
		return nil, fmt.Errorf("--latency names the probes to trace: %s is one too many", probes[0])
	}
	pair := splitProbes(f.latency)
	if len(pair) != 2 || pair[0] == "" || pair[1] == "" {
		return nil, fmt.Errorf("--latency %s: want two probes, START,END", f.latency)
	}
	return pair, nil
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

// printPairs reports what became of the events of a latency.
func (f *aggregateFlags) printPairs(stderr io.Writer, s tracer) error {
	if p, ok := s.(*attach.Pairs); ok {
		return printPairCounts(stderr, p, f.slower.Duration)
	}
	l, ok := s.(*attach.Latency)
	if !ok {
		return nil
	}
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
