package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/output"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/profile"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/remark"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/selector"
)

var profileVerb = verb{
	use:   "profile PROBE...",
	short: "Where events come from: a profile of stacks, for pprof and flame graphs",
	about: `profile adds events up by the calls that led to them and writes a profile when it ends:
how many came from where or, with --weigh, the sum of an argument. Text arguments are tags
in pprof. With --by the kernel adds up, by stack and the other keys, and sends no events.
--span adds up the time from one probe to another. The probes otel_memory:* of allocators
give a profile of memory, as Go's heap profiles are.`,
	examples: `  sdttrace profile -o calls.pb.gz --duration 10s 'myapp:*'   then: go tool pprof -http=: calls.pb.gz
  sdttrace profile --format folded -o calls.txt 'myapp:*'    for scripts that draw flame graphs
  sdttrace profile -o bytes.pb.gz --weigh bytes myapp:alloc
  sdttrace profile -o hot.pb.gz --by stack uprobe:./srv:handle   added up in the kernel
  sdttrace profile -o wait.pb.gz --span myapp:lock,myapp:locked:id --by comm
  sdttrace profile -o heap.pb.gz -p 4711 'otel_memory:*'
  sdttrace profile -o day.pb.gz --from day.usdt              of a recording with stacks`,
	does: func(f *traceFlags) deed { return &profiling{sums: sums{traceFlags: f}} },
}

// profileFormats are the values of its --format, the default first.
var profileFormats = []string{"pprof", "folded"}

// profiling adds events up by stack, and writes a profile.
type profiling struct {
	sums
	spans  repeated
	span   string // the one of spans
	weight string
	heap   bool // a profile of memory
}

func (d *profiling) words(set wordSet) {
	set.add("by", &d.by)
	set.add("weigh", &d.weight)
	set.add("span", &d.spans, "add up the time of pairs of probes, of the same KEY")
	set.add("interval", &d.interval, "read the groups of the kernel so often, so that it can hold more")
	set.add("max-groups", &d.maxGroups)
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
	switch {
	case d.span != "":
		s, err := session.ParseSpan(d.span)
		if err != nil {
			return nil, nil, err
		}
		opts.Interval = d.interval
		l, err := attach.OpenLatency(ctx, s.Start, s.End, &attach.LatencyOptions{Key: s.Key, By: d.by, MaxGroups: d.maxGroups}, opts)
		return l, func() error { return d.writeGroups(ctx, l, to.stdout) }, err
	case d.groups():
		opts.Interval = d.interval
		a, err := attach.OpenAggregate(ctx, probes, d.what, opts)
		return a, func() error { return d.writeGroups(ctx, a, to.stdout) }, err
	}
	s, err := attach.Open(ctx, probes, opts)
	return s, func() error { return d.writeEvents(s, to) }, err
}

func (d *profiling) conclude(s session.Session, stderr io.Writer) error {
	if l, ok := s.(*attach.Latency); ok {
		return remark.Pairs(stderr, l)
	}
	if d.groups() {
		return d.sums.conclude(s, stderr)
	}
	return nil
}

// writeProfile writes a profile to the file of --output.
func (d *profiling) writeProfile(p *profile.Profile, stdout io.Writer) error {
	write := p.WritePprof
	if d.format == profileFormats[1] {
		write = p.WriteFolded
	}
	file, err := d.outputs.Create(d.out, stdout)
	if err != nil {
		return err
	}
	err = output.Error(write(file))
	if failed := file.Close(); failed != nil {
		err = errors.Join(err, fmt.Errorf("write the profile: %w", failed))
	}
	return err
}

// writeEvents adds up events until there are enough or no more, and writes the profile.
func (f *profiling) writeEvents(s *attach.Session, to *showing) error {
	if f.heap {
		return f.writeHeap(s, to)
	}
	p := profile.New(f.weight)
	first := f.addEvents(s, p, p.Add)
	if f.weight != "" {
		f.setUnit(p, s.Plan())
	}
	if err := f.writeProfile(p, to.stdout); err != nil {
		return errors.Join(first, err)
	}
	if p.Left > 0 {
		fmt.Fprintf(to.stderr, "sdttrace: %d events have no number %s, and are not in the profile\n", p.Left, f.weight)
	}
	if p.Unlike > 0 {
		fmt.Fprintf(to.stderr, "sdttrace: the profile is large: %d events are in it without the text of their arguments\n", p.Unlike)
	}
	return first
}

// addEvents adds events to a profile until there are enough or no more. The error is the first of an event,
// which others follow, and that of the session.
func (f *profiling) addEvents(s *attach.Session, p *profile.Profile, add func(*event.Event)) (first error) {
	n := uint64(0)
	for ev, err := range s.Events() {
		if err != nil && ev.Probe == nil {
			return errors.Join(first, err)
		}
		first = cmp.Or(first, err)
		if add(&ev); f.replayed != nil {
			p.Cover(ev.Time)
		}
		if n++; n == f.limit {
			break
		}
	}
	return first
}

// ofHeap reports whether all probes are those of allocations.
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
	if f.sample > 1 {
		return errors.New("--sample would miss frees of what is in use: the program samples allocations itself")
	}
	if _, ok := profile.NewHeap(f.weight); !ok {
		return fmt.Errorf("--weigh %s: a profile of %s has alloc_objects, alloc_space, inuse_objects and inuse_space", f.weight, profile.HeapProvider)
	}
	return nil
}

// writeHeap adds up allocations until there are enough or no more, and writes the profile.
func (f *profiling) writeHeap(s *attach.Session, to *showing) error {
	p, _ := profile.NewHeap(f.weight)
	first := f.addEvents(s, p.Profile, p.Add)
	if err := f.writeProfile(p.Profile, to.stdout); err != nil {
		return errors.Join(first, err)
	}
	for _, c := range []struct {
		n   uint64
		say string
	}{
		{p.Unknown, "%d frees of what was allocated before, or was not seen"},
		{p.Untracked, "%d allocations were too many to follow until they are freed: they are not in use in the profile"},
		{p.Left, "%d events are no allocations and frees, and are not in the profile"},
	} {
		if c.n > 0 {
			fmt.Fprintf(to.stderr, "sdttrace: "+c.say+"\n", c.n)
		}
	}
	return first
}

// writeGroups reads groups by stack, each interval and at the end, and writes their profile.
func (f *profiling) writeGroups(ctx context.Context, a session.Aggregate, stdout io.Writer) error {
	values := []profile.Value{{Type: "events", Unit: "count"}}
	switch {
	case f.span != "":
		values = append(values, profile.Value{Type: "latency", Unit: "nanoseconds"})
	case f.weight != "":
		values = append(values, profile.Value{Type: f.weight, Unit: "count"})
	}
	p := profile.Of(values...)
	add := func() error {
		groups, err := a.Read()
		if err != nil {
			return err
		}
		f.meanings.Groups(groups, a.Plan())
		for i := range groups {
			g := &groups[i]
			if p.AddGroup(g.By, g.Other, g.Count, g.Sum); f.replayed != nil {
				p.Cover(g.From)
				p.Cover(g.At)
			}
		}
		return nil
	}
	var tick <-chan time.Time
	if f.interval > 0 {
		t := time.NewTicker(f.interval)
		defer t.Stop()
		tick = t.C
	}
	for ended := false; !ended; {
		select {
		case <-tick:
		case <-a.Done():
			ended = true
		case <-ctx.Done():
			ended = true
		}
		if ended {
			if err := a.Stop(); err != nil {
				return err
			}
		}
		if err := add(); err != nil {
			return err
		}
	}
	if f.weight != "" {
		f.setUnit(p, a.Plan())
	}
	return f.writeProfile(p, stdout)
}

// profileUnits are the units of pprof for those of arguments.
var profileUnits = map[string]string{"ns": "nanoseconds", "us": "microseconds", "ms": "milliseconds", "s": "seconds", "bytes": "bytes", "kB": "kilobytes"}

// setUnit says what a profile counts if the argument that it adds up is known.
func (f *profiling) setUnit(p *profile.Profile, plan attach.Plan) {
	if param := f.meanings.Param(f.weight, plan); param != nil && profileUnits[param.Unit] != "" {
		p.SetUnit(profileUnits[param.Unit])
	}
}
