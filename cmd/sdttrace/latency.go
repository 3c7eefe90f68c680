package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-usdt/usdt/attach"
)

// latencyProbes returns the two probes of --latency. probes are the others that
// were named.
func (f *aggregateFlags) latencyProbes(probes []string) ([]string, error) {
	for _, other := range []string{f.sum, f.avg, f.min, f.max, f.hist} {
		if f.count || other != "" {
			return nil, errors.New("--latency computes what there is to compute: only --lhist, --by and --interval go with it")
		}
	}
	if f.lhist != "" && !strings.HasPrefix(f.lhist, "latency,") {
		return nil, fmt.Errorf("--lhist %s: with --latency the only value is latency, e.g. --lhist latency,0,10ms,500us", f.lhist)
	}
	if len(probes) > 0 {
		return nil, fmt.Errorf("--latency names the probes to trace: %s is one too many", probes[0])
	}
	pair := strings.Split(f.latency, ",")
	if len(pair) != 2 || pair[0] == "" || pair[1] == "" {
		return nil, fmt.Errorf("--latency %s: want two probes, START,END", f.latency)
	}
	return pair, nil
}

// printPairs says what became of the events of a latency.
func printPairs(stderr io.Writer, s tracer) error {
	a, ok := s.(*attach.Aggregate)
	if !ok {
		return nil
	}
	p, err := a.Pairs()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stderr, "sdttrace: %d pairs; %d starts without an end, %d ends without a start, %d starts forgotten for want of room\n",
		p.Pairs, p.Restarted+p.Pending, p.Unstarted, p.Evicted)
	return err
}
