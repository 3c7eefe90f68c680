package main

import (
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/groups"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/word"
)

var statsVerb = verb{
	use:   "stats ARG PROBE...",
	short: "Count, average, least, greatest and quantiles of an argument",
	about: `stats adds up the argument ARG in the kernel, of all events or by the values of --by. It
shows count, avg, min, max, p50 and p99, or what --show names, and computes nothing else.
Quantiles are at most 1/64, 1.6 %, away from the exact ones.`,
	examples: `  sdttrace stats ms --by path myapp:request_done
  sdttrace stats bytes --show sum,rate --interval 1s myapp:sent    bytes a second
  sdttrace stats ms --by path --sort p99 --top 10 --interval 1s myapp:request_done   the slowest, live
  sdttrace stats size --show max --by stack myapp:alloc
  sdttrace stats ms --show p50,p99.9 --hist --duration 10s myapp:request_done
  sdttrace stats retval --where 'retval > 0' uretprobe:libc.so.6:read
  sdttrace stats ms --by path --from day.usdt                      of a recording`,
	does: func(f *traceFlags) deed { return &stats{sums{traceFlags: f}} },
}

// stats adds up an argument.
type stats struct{ sums }

func (d *stats) words(set word.Set) {
	set.Add("show", &d.show.Names)
	set.Add("quantiles", &d.show.Quantiles)
	set.Add("hist", &d.show.Hist)
	set.Add("steps", &d.show.Steps)
	d.grouping(set)
	d.rest(set)
}

func (d *stats) take(args []string) (probes []string, err error) {
	d.value, probes, err = takeArgument(args)
	return probes, err
}

func (d *stats) check([]string) error {
	return d.prepare(groups.Values{Names: []string{"avg", "min", "max", "p50", "p99"}})
}
