package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/interrupt"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/output"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/profiles"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/recording"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/word"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/profile"
)

var profileVerb = verb{
	use:   "profile PROBE...",
	short: "Where events come from: a profile of stacks, for pprof and flame graphs",
	about: `profile adds events up by the calls that led to them and writes a profile when it ends:
how many came from where or, with --weigh, the sum of an argument. Text arguments are tags
in pprof. With --by the kernel adds up, by stack and the other keys, and sends no events.
--span adds up the time from one probe to another. The probes otel_memory:* of allocators
give a profile of memory, as Go's heap profiles are. --diff says by how much a recording differs
from an earlier one: in text, with -o X.pb.gz as pprof -diff_base does, or for difffolded.pl's readers.`,
	examples: `  sdttrace profile -o calls.pb.gz --duration 10s 'myapp:*'   then: go tool pprof -http=: calls.pb.gz
  sdttrace profile --format folded -o calls.txt 'myapp:*'    for scripts that draw flame graphs
  sdttrace profile -o bytes.pb.gz --weigh bytes myapp:alloc
  sdttrace profile -o hot.pb.gz --by stack uprobe:./srv:handle   added up in the kernel
  sdttrace profile -o wait.pb.gz --span myapp:lock,myapp:locked:id --by comm
  sdttrace profile -o heap.pb.gz -p 4711 'otel_memory:*'
  sdttrace profile -o day.pb.gz --from day.usdt              of a recording with stacks
  sdttrace profile --diff before.usdt after.usdt             what has changed; also of parts of one:
  sdttrace profile --diff day.usdt@0s,10s day.usdt@10s,20s`,
	does: func(f *traceFlags) deed { return &profiling{sums: sums{traceFlags: f}} },
}

// profileFormats are the values of its --format, the default first.
var profileFormats = []string{"pprof", "folded", "text"}

// profiling adds events up by stack, and writes a profile.
type profiling struct {
	sums
	spans  word.Repeated
	span   string // the one of spans
	weight string
	heap   bool // a profile of memory
}

func (d *profiling) words(set word.Set) {
	set.Add("by", &d.by)
	set.Add("weigh", &d.weight)
	set.Add("span", &d.spans, "add up the time of pairs of probes, of the same KEY")
	set.Add("diff", &d.base)
	set.Add("interval", &d.interval, "read the groups of the kernel so often, so that it can hold more")
	set.Add("max-groups", &d.maxGroups)
	d.target(set)
	d.single(set)
	d.recordings(set)
	d.said(set, profileFormats)
	d.arguments(set)
}

// groups reports whether the kernel adds up, or what reads recordings in its place.
func (d *profiling) groups() bool { return len(d.by) > 0 || len(d.spans) > 0 }

func (d *profiling) traces(probes []string) []string { return probesOf(d.spans, probes) }

func (d *profiling) check(probes []string) error {
	whole := recording.Part{}
	switch {
	case d.base == "" && d.format == profileFormats[2]:
		return errors.New("--format text compares two recordings: it needs --diff")
	case d.groups() && (d.part != whole || d.before.Part != whole):
		return errors.New("--diff compares parts of recordings by single events: not with --by and --span")
	case d.base != "" && !d.given("format") && !strings.HasSuffix(d.out, ".pb.gz"):
		d.format = profileFormats[2]
	}
	if !d.groups() {
		if d.stack.Calls == 0 {
			d.stack.Calls = attach.MaxStack
		}
		for _, name := range []string{"interval", "max-groups"} {
			if d.given(name) {
				return fmt.Errorf("--%s is for groups: add up in the kernel by --by stack", name)
			}
		}
		return d.checkHeap(probes)
	}
	for _, name := range []string{"sample", "limit", "max-string", "buffer"} {
		if d.given(name) {
			return fmt.Errorf("--%s is for single events: with --by and --span the kernel adds all up", name)
		}
	}
	if !d.byStack() {
		d.by = append(d.by, "stack")
	}
	if len(d.spans) > 0 {
		d.span = d.spans[0]
		s, err := session.ParseSpan(d.span)
		switch {
		case len(d.spans) > 1:
			return errors.New("--span is given twice: a profile is of one pair of probes")
		case err != nil:
			return err
		case len(probes) > 0:
			return fmt.Errorf("--span names the probes to trace: %s is one too many", probes[0])
		case d.weight != "":
			return errors.New("--weigh is for events: --span adds up the time of pairs")
		}
		d.start, d.value = s.Start, "latency"
	} else if d.weight != "" {
		d.value, d.shown.Names = d.weight, []string{"sum"}
	}
	d.order.Sort = "count"
	return d.compute()
}

// every is how often groups are read, which are not drawn.
func (d *profiling) every() time.Duration { return 0 }

func (d *profiling) writes() bool { return true }

func (d *profiling) open(ctx context.Context, probes []string, opts *attach.Options, to *showing) (session.Session, func() error, error) {
	s, collect, err := d.source(ctx, probes, opts, to)
	if err != nil || d.base == "" {
		return s, func() error {
			p, err := collect(d.part)
			if p == nil {
				return err
			}
			return errors.Join(err, d.write(to.stdout, d.writers(p)[d.format]))
		}, err
	}
	return s, func() error { return d.compare(ctx, probes, *opts, collect, to) }, nil
}

// collector adds events, or a part of a recording, up to a profile.
type collector func(part recording.Part) (*profile.Profile, error)

// source attaches, and returns what makes a profile until the events end.
func (d *profiling) source(ctx context.Context, probes []string, opts *attach.Options, to *showing) (session.Session, collector, error) {
	switch {
	case d.span != "":
		s, err := session.ParseSpan(d.span)
		if err != nil {
			return nil, nil, err
		}
		flat, where := session.Known(s.Start, s.End, opts)
		l, err := attach.OpenLatency(ctx, s.Start, s.End, &attach.LatencyOptions{Key: s.Key, Flat: flat, By: d.meanings.Keys(d.by, []string{s.Start, s.End}), MaxGroups: d.maxGroups, Interval: d.intervals(d.interval)}, opts.Restricted(where))
		return l, func(recording.Part) (*profile.Profile, error) { return d.collector(to).Groups(ctx, l) }, err
	case d.groups():
		a, err := attach.OpenAggregate(ctx, probes, d.what.By(d.meanings.Keys(d.by, probes)...).Interval(d.intervals(d.interval)), opts)
		return a, func(recording.Part) (*profile.Profile, error) { return d.collector(to).Groups(ctx, a) }, err
	}
	s, err := attach.OpenEvents(ctx, probes, &d.events, opts)
	return s, func(part recording.Part) (*profile.Profile, error) { return d.collector(to).Events(s, part) }, err
}

func (d *profiling) collector(to *showing) *profiles.Collector {
	return &profiles.Collector{
		Weight: d.weight, Heap: d.heap, Pairs: d.span != "", Replayed: d.replayed != nil,
		Limit: d.limit, Interval: d.interval, Meanings: &d.meanings, Stderr: to.stderr,
	}
}

// compare writes by how much a profile differs from that of --diff.
func (d *profiling) compare(ctx context.Context, probes []string, opts attach.Options, collect collector, to *showing) error {
	defer interrupt.Of(ctx).Prepare(to.stderr)() // nothing is attached
	before, _, err := recording.Find([]string{d.before.File}, nil, to.stderr)
	if err != nil {
		return fmt.Errorf("--diff: %w", err)
	}
	opts.Target.Recordings = before.Files
	s, collectBase, err := d.source(ctx, probes, &opts, to)
	if err != nil {
		return fmt.Errorf("--diff: %w", err)
	}
	defer s.Close()
	base, err := collectBase(d.before.Part)
	if base == nil {
		return err
	}
	now, failed := collect(d.part)
	err = errors.Join(err, failed)
	if now == nil {
		return err
	}
	diff := &profile.Diff{Base: base, Now: now}
	return errors.Join(err, d.write(to.stdout, map[string]func(io.Writer) error{"text": diff.WriteText, "pprof": diff.WritePprof, "folded": diff.WriteFolded}[d.format]))
}

func (d *profiling) conclude(s session.Session, stderr io.Writer) error {
	if d.groups() {
		return d.sums.conclude(s, stderr)
	}
	return nil
}

// writers are what writes a profile in each format.
func (d *profiling) writers(p *profile.Profile) map[string]func(io.Writer) error {
	return map[string]func(io.Writer) error{"pprof": p.WritePprof, "folded": p.WriteFolded}
}

// write writes to the file of --output.
func (d *profiling) write(stdout io.Writer, write func(io.Writer) error) error {
	file, err := d.outputs.Create(d.out, stdout)
	if err != nil {
		return err
	}
	return output.Whole(file, output.Error(write(file)))
}

// ofHeap reports whether all probes are allocations.
func ofHeap(probes []string) bool {
	for _, probe := range probes {
		if s, err := selector.Parse(probe); err != nil || s.Provider != profile.HeapProvider {
			return false
		}
	}
	return len(probes) > 0
}

// checkHeap decides whether the profile is one of memory, and returns an error of usage.
func (f *profiling) checkHeap(probes []string) error {
	if f.heap = ofHeap(probes); !f.heap {
		return nil
	}
	if f.events.Sample > 1 {
		return errors.New("--sample would miss frees of what is in use: the program samples allocations itself")
	}
	if _, ok := profile.NewHeap(f.weight); !ok {
		return fmt.Errorf("--weigh %s: a profile of %s has alloc_objects, alloc_space, inuse_objects and inuse_space", f.weight, profile.HeapProvider)
	}
	return nil
}
