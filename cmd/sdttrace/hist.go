package main

import (
	"fmt"
	"strings"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/groups"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/word"
	"github.com/go-usdt/usdt/internal/selector"
)

var histVerb = verb{
	use:   "hist ARG PROBE...",
	short: "Histogram of an argument, by powers of two or in equal steps",
	about: `hist counts the values of the argument ARG in the kernel: by powers of two, or by --steps
LO,HI,STEP in equal steps, with a bucket below LO and one from HI on. With --by each group
has its own histogram. --show adds other values to the line of a group.`,
	examples: `  sdttrace hist ms --by path --interval 10s myapp:request_done
  sdttrace hist status --steps 100,600,100 myapp:request_done
  sdttrace hist took --steps 0,10ms,500us myapp:request_done
  sdttrace hist ms --quantiles 50,99 --duration 10s myapp:request_done
  sdttrace hist retval uretprobe:libc.so.6:read       what a function returns
  sdttrace hist ms --by path --from day.usdt          of a recording`,
	does: func(f *traceFlags) deed { return &histogram{sums{traceFlags: f}} },
}

// histogram counts values of an argument.
type histogram struct{ sums }

func (d *histogram) words(set word.Set) {
	set.Add("steps", &d.show.Steps)
	set.Add("show", &d.show.Names)
	set.Add("quantiles", &d.show.Quantiles)
	d.grouping(set)
	d.rest(set)
}

func (d *histogram) take(args []string) (probes []string, err error) {
	d.value, probes, err = takeArgument(args)
	return probes, err
}

func (d *histogram) check([]string) error { return d.prepare(groups.Values{Hist: true}) }

// takeArgument takes the argument in front of the probes.
func takeArgument(args []string) (argument string, probes []string, err error) {
	argument, probes, err = takeOne(args, "ARG, the argument that is added up")
	if _, probe := selector.Parse(argument); err == nil && probe == nil && strings.Contains(argument, ":") {
		err = fmt.Errorf("%s is a probe: name ARG in front of it, the argument that is added up", argument)
	}
	return argument, probes, err
}
