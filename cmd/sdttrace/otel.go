package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/receiver"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/word"
	"github.com/go-usdt/usdt/internal/selector"
)

// newOtelCommand returns the command that prints what the OpenTelemetry Collector needs to do
// what a verb does.
func newOtelCommand(stdout, _ io.Writer) *cobra.Command {
	return &cobra.Command{
		Use:   "otel [VERB] PROBE...",
		Short: "Print the configuration of an OpenTelemetry Collector that does what a verb does",
		Long: `otel prints what to put into the file of an OpenTelemetry Collector that has the receiver
usdt, so that a question which was answered here becomes a metric there: write otel in front of
the verb. count, stats, hist and latency become metrics, latency --slower becomes spans, profile
becomes profiles, and events, of no verb, print or snapshot, become logs. Flags that only say
what the terminal shows are left out; otel refuses those that the receiver does not have.

  sdttrace otel latency postgresql:query__start postgresql:query__done --comm postgres
  sdttrace otel stats ms --by path --show sum,max --container web myapp:request_done
  sdttrace otel profile --weigh ms --stack=dwarf myapp:request_done
  sdttrace otel --where 'status >= 500' myapp:request_done`,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if slices.Contains(args, "--help") || slices.Contains(args, "-h") {
				return cmd.Help()
			}
			text, err := otelConfig(args)
			if err != nil {
				return usageError{err}
			}
			_, err = io.WriteString(stdout, text)
			return err
		},
	}
}

// otelLacks are flags for which the receiver has nothing.
var otelLacks = []string{"user", "force", "link", "from", "sample", "str", "args", "follow", "providers", "max-string", "buffer", "stop", "signal", "steps", "fields", "span", "diff"}

// otelConfig returns the configuration that does what the words of a command line do.
func otelConfig(args []string) (string, error) {
	v := &printVerb
	if len(args) > 0 {
		if i := slices.IndexFunc(verbs, func(v *verb) bool { return v.name() == args[0] }); i >= 0 {
			v, args = verbs[i], args[1:]
		}
	}
	f := newTraceFlags()
	d := v.does(f)
	flags := pflag.NewFlagSet(v.name(), pflag.ContinueOnError)
	d.words(word.Set{FlagSet: flags})
	if err := errors.Join(flags.Parse(args), receiver.CheckText(args)); err != nil {
		return "", err
	}
	words, err := f.parsed(flags, flags.Args())
	if err == nil {
		err = f.checkGiven()
	}
	if err != nil {
		return "", err
	}
	for _, name := range otelLacks {
		if f.given(name) {
			return "", fmt.Errorf("the receiver has nothing for --%s", name)
		}
	}
	if _, is := d.(*profiling); f.given("stack") && !is {
		return "", errors.New("the receiver has nothing for --stack, except in profiles")
	}
	if len(f.command) > 0 {
		return "", errors.New("the receiver starts no command: name processes by --comm, --exe, --container or --pod")
	}
	probes, err := f.probes(d, words)
	if err != nil {
		return "", err
	}
	opts, err := f.options()
	if err != nil {
		return "", err
	}
	if err := otelRefuses(d, opts, d.traces(probes)); err != nil {
		return "", err
	}
	does, err := otelDoes(d, probes)
	if err != nil {
		return "", err
	}
	out := []string{"receivers:", "  usdt:", "    traces:"}
	add := func(format string, args ...any) {
		begin := "        "
		if len(out) == 3 {
			begin = "      - "
		}
		out = append(out, begin+fmt.Sprintf(format, args...))
	}
	if does.probes {
		add("probes: %s", receiver.Quoted(receiver.Probes(probes)))
	}
	if target := receiver.Target(&opts.Target); target != "" {
		add("target: {%s}", target)
	}
	if f.where != "" {
		add("where: %s", receiver.Quoted(f.where))
	}
	add("%s", does.line)
	return strings.Join(out, "\n") + "\n", nil
}

// otelRefuses returns what the receiver would refuse, and what tracing would find only later.
func otelRefuses(d deed, opts *attach.Options, probes []string) error {
	interval, events := d.every(), new(attach.EventOptions)
	switch d := d.(type) {
	case *profiling:
		interval = d.interval
	case *snapshots:
		o := d.options()
		if events.On = o.On; max(o.Before, o.After) > receiver.Around {
			return fmt.Errorf("the receiver keeps at most %d events before and after one", receiver.Around)
		}
	}
	if interval > 0 && interval < receiver.Interval {
		return fmt.Errorf("--interval: the receiver delivers each %v at most", receiver.Interval)
	}
	for _, probe := range probes {
		if _, err := selector.Parse(probe); err != nil {
			return err
		}
	}
	if err := events.Validate(opts); err != nil {
		return openError(err)
	}
	return nil
}

// otelDeed is what becomes of events.
type otelDeed struct {
	line   string
	probes bool // beside it
}

// otelDoes returns what the receiver does instead of a deed.
func otelDoes(d deed, probes []string) (does otelDeed, err error) {
	var metrics []string
	add := func(name string, value any) { metrics = append(metrics, name+": "+receiver.Quoted(value)) }
	var s *sums
	switch d := d.(type) {
	case *profiling:
		line, err := otelProfiles(d, probes)
		return otelDeed{line, true}, err
	case *printing:
		return otelDeed{"logs: {}", true}, nil
	case *snapshots:
		o := d.options()
		line := fmt.Sprintf("logs: {snapshot: {on: %s, before: %d, after: %d, every: %s}}", receiver.Quoted(o.On), o.Before, o.After, receiver.Quoted(o.Every.String()))
		return otelDeed{line, true}, nil
	case *counting:
		s, does.probes = &d.sums, true
	case *stats:
		s, does.probes = &d.sums, true
	case *histogram:
		s, does.probes = &d.sums, true
	case *latencies:
		if err := (&attach.PairOptions{Key: d.key}).Validate(); err != nil {
			return does, openError(err)
		}
		add("start", receiver.Probe(d.start))
		add("end", receiver.Probe(d.end))
		if len(d.key) > 0 {
			add("key", d.key)
		}
		if d.slower.Given {
			add("slower", d.slower.String())
			return otelDeed{"spans: {" + strings.Join(metrics, ", ") + "}", false}, nil
		}
		s = &d.sums
	default:
		return does, errors.New("the receiver counts, adds up and prints: otel is for print, snapshot, count, stats, hist, latency and profile")
	}
	var show []string
	for _, name := range s.shown.Names {
		switch name {
		case "sum", "avg":
			name = "sum" // the count is there
		case "min", "max":
		case "count", "rate":
			continue
		default:
			if len(s.shown.Percents) > 0 && name[0] == 'p' { // the histogram has it
				continue
			}
			return does, fmt.Errorf("the receiver does not compute %s: --show sum,min,max and --hist become metrics", name)
		}
		if !slices.Contains(show, name) {
			show = append(show, name)
		}
	}
	if does.probes && s.value != "" { // latencies have all
		add("value", s.value)
		if s.shown.Hist || len(s.shown.Percents) > 0 {
			show = append(show, "histogram")
		}
		if len(show) == 0 {
			show = []string{"sum"}
		}
		add("show", show)
	}
	if err := attach.Count().By(s.by...).Validate(); err != nil {
		return does, openError(err)
	}
	if len(s.by) > 0 {
		if slices.Contains(s.by, "stack") {
			return does, errors.New("the receiver has no groups by stack")
		}
		by := slices.DeleteFunc(slices.Clone(s.by), func(key string) bool { return key == "probe" && does.probes }) // which it has by itself
		add("by", by)
	}
	if s.maxGroups > 0 {
		add("max_groups", s.maxGroups)
	}
	if s.interval > 0 {
		add("interval", s.interval.String())
	}
	does.line = "metrics: {" + strings.Join(metrics, ", ") + "}"
	return does, nil
}

// otelProfiles returns what the receiver does instead of a profile.
func otelProfiles(d *profiling, probes []string) (string, error) {
	if err := d.checkHeap(probes); err != nil {
		return "", err
	}
	if d.heap {
		return "", errors.New("the receiver makes no profiles of memory")
	}
	if err := attach.Count().By(d.by...).Validate(); err != nil {
		return "", openError(err)
	}
	var out []string
	add := func(name string, value any, given bool) {
		if given {
			out = append(out, name+": "+receiver.Quoted(value))
		}
	}
	add("value", d.weight, d.weight != "")
	add("max_frames", d.stack.Calls, d.given("stack"))
	add("unwind", true, d.stack.Unwind)
	by := slices.DeleteFunc(slices.Clone(d.by), func(key string) bool { return slices.Contains([]string{"stack", "probe", "pid"}, key) }) // which samples have
	add("by", by, len(by) > 0)
	add("max_groups", d.maxGroups, d.maxGroups > 0)
	add("interval", d.interval.String(), d.interval > 0)
	return "profiles: {" + strings.Join(out, ", ") + "}", nil
}
