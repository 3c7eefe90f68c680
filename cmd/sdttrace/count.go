package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/groups"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/word"
)

var countVerb = verb{
	use:   "count PROBE...",
	short: "Count events, by what you name",
	about: `count counts events instead of printing them: all of them, or those of each value of --by,
in the kernel. --by names arguments, ` + taskKeys + `,
probe, stack, or what is computed of them: status/100, 'size & 4095', path[:16], 'sql(query)'
for statements without their literals, 'word(request)' for the first word, 'cxx(type)' for types of C++.`,
	examples: `  sdttrace count --duration 10s 'myapp:*'
  sdttrace count --by comm,pid --interval 1s --top 10 'myapp:*'   the busiest processes, live
  sdttrace count --by 'status/100,path[:8]' myapp:request_done
  sdttrace count --by pod,container 'myapp:*'                  of Kubernetes: sdttrace help conditions
  sdttrace count --by 'sql(query)' postgresql:query__start
  sdttrace count --by stack --stack=dwarf uprobe:libc.so.6:malloc   who calls
  sdttrace count --by probe --show rate 'myapp:*'              events a second
  sdttrace count --by msg --from day.usdt                      of a recording`,
	does: func(f *traceFlags) deed { return &counting{sums{traceFlags: f}} },
}

// counting counts events.
type counting struct{ sums }

func (d *counting) words(set word.Set) {
	set.Add("show", &d.show.Names, "what is shown: count, and rate, the events a second")
	d.grouping(set)
	d.rest(set)
}

func (d *counting) check([]string) error {
	if err := d.prepare(groups.Values{}); err != nil {
		return err
	}
	if slices.ContainsFunc(d.shown.Names, func(name string) bool { return name != "count" && name != "rate" }) || d.shown.Hist {
		return fmt.Errorf("--show %s: count has count and rate; sdttrace stats ARG has values of an argument", strings.Join(d.show.Names, ","))
	}
	return nil
}
