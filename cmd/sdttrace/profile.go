package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/profile"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/selector"
)

// profileFlags are the flags that add events up by stack, and write a profile.
type profileFlags struct {
	pprof, folded string
	weight        string
	heap          bool // a profile of memory
}

func (f *profileFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.pprof, "pprof", "", "instead of printing events, or groups by stack, write a profile of their stacks to this file, - for stdout, for go tool pprof")
	flags.StringVar(&f.folded, "folded", "", "instead of printing events, or groups by stack, write their stacks to this file, - for stdout, a line for each with its number of events, for flame graphs")
	flags.StringVar(&f.weight, "weigh", "", "with --pprof and --folded: the argument to add up by stack, e.g. bytes")
}

func (f *profileFlags) wanted() bool { return f.pprof != "" || f.folded != "" }

// profileOutputs are the files of a profile.
type profileOutputs struct {
	pprof, folded string
	files         []io.WriteCloser // in this order, nil for those that are not wanted
}

// outputs creates the files.
func (f *profileFlags) outputs(to *outputs, stdout io.Writer) (*profileOutputs, error) {
	o := &profileOutputs{pprof: f.pprof, folded: f.folded}
	for _, path := range []string{f.pprof, f.folded} {
		if path == "" {
			o.files = append(o.files, nil)
			continue
		}
		file, err := to.create(path, stdout)
		if err != nil {
			return nil, errors.Join(err, o.close())
		}
		o.files = append(o.files, file)
	}
	return o, nil
}

func (o *profileOutputs) close() (err error) {
	for _, file := range o.files {
		if file != nil {
			err = cmp.Or(err, file.Close())
		}
	}
	o.files = nil
	return err
}

// write writes the profile. An output that cannot be written, or has no reader any more, keeps
// nothing from the other one.
func (o *profileOutputs) write(p *profile.Profile) (err error) {
	for i, write := range []func(io.Writer) error{p.WritePprof, p.WriteFolded} {
		if o.files[i] != nil {
			err = errors.Join(err, outputError(write(o.files[i])))
		}
	}
	if failed := o.close(); failed != nil {
		err = errors.Join(err, fmt.Errorf("write the profile: %w", failed))
	}
	return err
}

// printProfile adds up events until there are enough or no more, and writes the profile.
func (f *traceFlags) printProfile(s *attach.Session, stdout, stderr io.Writer) error {
	to, err := f.profile.outputs(&f.outputs, stdout)
	if err != nil {
		return err
	}
	defer to.close()
	if f.profile.heap {
		return f.printHeap(s, to, stderr)
	}
	p := profile.New(f.profile.weight)
	first := f.addEvents(s, p, p.Add)
	if f.profile.weight != "" {
		f.meanings.setUnit(p, f.profile.weight, s.Plan())
	}
	if err := to.write(p); err != nil {
		return errors.Join(first, err)
	}
	if p.Left > 0 {
		fmt.Fprintf(stderr, "sdttrace: %d events have no number %s, and are not in the profile\n", p.Left, f.profile.weight)
	}
	if p.Unlike > 0 {
		fmt.Fprintf(stderr, "sdttrace: the profile is large: %d events are in it without the text of their arguments\n", p.Unlike)
	}
	return first
}

// addEvents adds events to a profile until there are enough or no more. The error is the first of an event,
// which others follow, and that of the session.
func (f *traceFlags) addEvents(s *attach.Session, p *profile.Profile, add func(*event.Event)) (first error) {
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
func (f *traceFlags) checkHeap(probes []string) error {
	f.profile.heap = f.profile.wanted() && !f.aggregate.wanted() && ofHeap(probes)
	if !f.profile.heap {
		return nil
	}
	if f.sample > 1 {
		return errors.New("--sample would miss frees of what is in use: the program samples allocations itself")
	}
	if _, ok := profile.NewHeap(f.profile.weight); !ok {
		return fmt.Errorf("--weigh %s: a profile of %s has alloc_objects, alloc_space, inuse_objects and inuse_space", f.profile.weight, profile.HeapProvider)
	}
	return nil
}

// printHeap adds up allocations until there are enough or no more, and writes the profile.
func (f *traceFlags) printHeap(s *attach.Session, to *profileOutputs, stderr io.Writer) error {
	p, _ := profile.NewHeap(f.profile.weight)
	first := f.addEvents(s, p.Profile, p.Add)
	if err := to.write(p.Profile); err != nil {
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
			fmt.Fprintf(stderr, "sdttrace: "+c.say+"\n", c.n)
		}
	}
	return first
}

// groupProfile reads groups by stack, each interval and at the end, and writes their profile.
func (f *traceFlags) groupProfile(ctx context.Context, a aggregate, stdout io.Writer) error {
	to, err := f.profile.outputs(&f.outputs, stdout)
	if err != nil {
		return err
	}
	defer to.close()
	values := []profile.Value{{Type: "events", Unit: "count"}}
	switch {
	case f.aggregate.latency != "":
		values = append(values, profile.Value{Type: "latency", Unit: "nanoseconds"})
	case f.aggregate.sum != "":
		values = append(values, profile.Value{Type: f.aggregate.sum, Unit: "count"})
	}
	p := profile.Of(values...)
	add := func() error {
		groups, err := a.Read()
		if err != nil {
			return err
		}
		f.meanings.groups(groups, a.Plan())
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
	if f.aggregate.interval > 0 {
		t := time.NewTicker(f.aggregate.interval)
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
	if f.aggregate.sum != "" {
		f.meanings.setUnit(p, f.aggregate.sum, a.Plan())
	}
	return to.write(p)
}
