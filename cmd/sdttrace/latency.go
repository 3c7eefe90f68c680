package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/flagvalue"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/format"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/groups"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/output"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/screen"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/word"
	"github.com/go-usdt/usdt/internal/printable"
)

var latencyVerb = verb{
	use:   "latency START END",
	short: "Time from one probe to another, or the slow pairs",
	about: `latency measures the time from the probe START to the probe END, about one event's cost included, and adds it
up, of all pairs or by --by. An END belongs to the last START that has none yet: of the same goroutine in Go,
of the same call of a function, or of the same thread; with --key, of the same value of an argument. It shows
count, sum, avg, min and max, or what --show names. --slower prints longer pairs instead, with arguments or
--fields, and the starts that hang; with --top N, the N slowest. --interval also counts starts that hang.`,
	examples: `  sdttrace latency myapp:request_start myapp:request_done --key id --by path
  sdttrace latency postgresql --slower 50ms       a provider alone: the pair that matters first
  sdttrace latency postgresql --show p50,p99,p99.9   quantiles, of PostgreSQL by the shape of statements
  sdttrace latency postgresql:lock__wait__start --by 'sql(statement),stack'   a start alone: and its end
  sdttrace latency uprobe:./srv:handle            how long a function takes, up to its uretprobe
  sdttrace latency a:sent b:received --key machine,id --from day.usdt   between processes`,
	does: func(f *traceFlags) deed {
		return &latencies{sums: sums{traceFlags: f, value: "latency", order: format.Order{Own: "sum"}}}
	},
}

// latencies measures the time from one probe to another.
type latencies struct {
	sums
	key    []string
	slower flagvalue.Threshold
	fields format.Fields
	end    string
	looked string // the provider, or the start, whose pair is measured
	flat   bool   // starts do not nest, see session.Known
}

func (d *latencies) words(set word.Set) {
	set.Add("key", &d.key)
	set.Add("slower", &d.slower)
	set.Add("fields", (*[]string)(&d.fields), "only these parts of pairs: latency, time, comm, pid, tid, args, or arguments by name")
	set.Add("show", &d.show.Names)
	set.Add("quantiles", &d.show.Quantiles)
	set.Add("hist", &d.show.Hist)
	set.Add("steps", &d.show.Steps)
	d.grouping(set)
	set.Add("limit", &d.limit)
	d.rest(set)
	set.Add("max-string", &d.events.MaxString)
	set.Add("buffer", (*flagvalue.Bytes)(&d.events.RingSize))
}

func (d *latencies) take(args []string) ([]string, error) {
	if len(args) == 1 {
		args = session.SplitProbes(args[0])
	}
	for entry, ret := range map[string]string{"uprobe:": "uretprobe:", "kprobe:": "kretprobe:", "fentry:": "fexit:", "tracepoint:syscalls:sys_enter_": "tracepoint:syscalls:sys_exit_"} {
		if rest, ok := strings.CutPrefix(args[0], entry); ok && len(args) == 1 {
			args = []string{args[0], ret + rest} // the calls of a function, or a system call
		}
	}
	switch {
	case len(args) > 2:
		return nil, fmt.Errorf("latency takes two probes, START and END: %s is one too many", args[2])
	case len(args) < 2 || args[0] == "" || args[1] == "":
		return nil, errors.New("name two probes: latency START END, or one function: latency uprobe:PATH:FUNC")
	}
	d.start, d.end = args[0], args[1]
	return args, nil
}

// look takes the first pair that the first look at a provider shows, or the end that belongs to a start.
func (d *latencies) look(ctx context.Context, args []string) ([]string, error) {
	if len(args) != 1 || len(session.SplitProbes(args[0])) != 1 {
		return args, nil
	}
	finder, err := d.finder()
	if err != nil {
		return nil, err
	}
	l, err := finder.Pair(ctx, args[0])
	if err != nil || l == nil {
		return args, err
	}
	s, err := session.ParseSpan(l.Span)
	if len(d.key) == 0 {
		d.key = s.Key
	}
	if !d.given("by") && !d.slower.Given && l.By != "" {
		d.by = []string{l.By}
	}
	d.looked = args[0]
	return []string{s.Start, s.End}, err
}

func (d *latencies) check([]string) error {
	if d.slower.Given {
		for _, name := range []string{"by", "show", "quantiles", "hist", "steps", "interval", "sort", "max-groups"} {
			if d.given(name) {
				return fmt.Errorf("--slower prints pairs instead of adding them up: --%s does not go with it", name)
			}
		}
		return d.fields.CheckNames()
	}
	for _, name := range []string{"limit", "max-string", "buffer", "fields"} {
		if d.given(name) {
			return fmt.Errorf("--%s is for the pairs of --slower: others are added up", name)
		}
	}
	return d.prepare(groups.Values{Names: []string{"sum", "avg", "min", "max"}, Hist: !d.output.Readable})
}

func (d *latencies) open(ctx context.Context, probes []string, opts *attach.Options, to *showing) (session.Session, func() error, error) {
	if d.looked != "" && !d.quiet {
		fmt.Fprintf(to.stderr, "sdttrace: latency %s is from %s to %s%s\n", d.looked, d.start, d.end, groups.By(d.by))
	}
	var where string
	d.flat, where = session.Known(d.start, d.end, opts)
	opts = opts.Restricted(where)
	d.key = d.meanings.Keys(d.key, []string{d.start, d.end})
	if d.slower.Given {
		if d.looked != "" && len(d.fields)+len(opts.Args) == 0 && strings.HasPrefix(d.end, "uprobe:") {
			plain := *opts // nobody has named this function, or asked for what it is called with
			plain.Args, opts = []string{"none"}, &plain
		}
		p, err := attach.OpenPairs(ctx, d.start, d.end, &attach.PairOptions{Key: d.key, Flat: d.flat, Slower: d.slower.Duration, RingSize: d.events.RingSize, MaxString: d.events.MaxString, Groups: d.fields.Groups()}, opts)
		if err != nil {
			return nil, nil, err
		}
		if err := d.fields.CheckPair(p, &d.meanings); err != nil {
			return nil, nil, errors.Join(usageError{err}, p.Close())
		}
		return p, func() error { return d.printSlow(p, to) }, nil
	}
	d.by = d.meanings.Keys(d.by, []string{d.start, d.end})
	l, err := attach.OpenLatency(ctx, d.start, d.end, &attach.LatencyOptions{
		Key: d.key, Flat: d.flat, Bounds: d.shown.Bounds, Also: d.shown.Of("latency"), By: d.by, MaxGroups: d.maxGroups, Interval: d.intervals(d.interval),
	}, opts)
	return l, func() error { return d.print(ctx, l, to) }, err
}

// mostWaiting is how many starts that have not ended are shown without --top.
const mostWaiting = 20

// printSlow writes pairs until there are enough or no more, or at the end the slowest of them; and
// then the starts that have waited longer for their ends than pairs have to take.
func (f *latencies) printSlow(p *attach.Pairs, to *showing) error {
	out := bufio.NewWriterSize(to.stdout, 64<<10)
	var line []byte
	n := uint64(0)
	var first error // of a pair; later pairs follow
	slowest := format.Slowest{Most: f.order.Top}
	columns := 0
	if f.output.Readable {
		columns = screen.Width(to.stdout)
	}
	shown := func(pair *attach.Pair) ([]byte, error) {
		f.meanings.Event(&pair.Start, f.output.Readable)
		f.meanings.Event(&pair.End, f.output.Readable)
		if len(f.fields) == 0 {
			return format.Narrow(nil, f.output.Pair(line[:0], pair), columns), nil
		}
		picked, err := f.fields.PickPair(pair, f.output.Readable)
		if err != nil {
			return nil, usageError{err}
		}
		return format.Narrow(nil, f.output.Fields(f.fields, line[:0], picked), columns), nil
	}
	for pair, err := range p.All() {
		if err != nil && (pair.Start.Probe == nil || pair.End.Probe == nil) {
			first = errors.Join(err, first)
			break
		}
		if first == nil {
			first = err
		}
		if f.order.Top > 0 {
			slowest.Add(pair)
		} else if line, err = shown(&pair); err != nil {
			return err
		} else {
			_, err := out.Write(line)
			// Fast pairs may be all that waits behind this one, unless the kernel drops them.
			if err == nil && (p.Via() != attach.ViaKernel || p.Idle()) {
				err = out.Flush()
			}
			if err != nil {
				return output.Error(err)
			}
		}
		if n++; n == f.limit {
			break
		}
	}
	if f.slower.Duration > 0 && (f.limit == 0 || n < f.limit) {
		waiting, err := p.Waiting(f.slower.Duration)
		if !errors.Is(err, attach.ErrClosed) {
			first = cmp.Or(first, err)
		}
		if n := len(waiting); f.flat && f.replayed == nil {
			if waiting = slices.DeleteFunc(waiting, session.Ended); len(waiting) < n && !f.quiet {
				fmt.Fprintf(to.stderr, "sdttrace: %s without an end began in processes that have ended\n", printable.Many(uint64(n-len(waiting)), "start", "starts"))
			}
		}
		if len(waiting) > 0 && !f.quiet {
			fmt.Fprintf(to.stderr, "sdttrace: %s waited longer than %v without an end\n", printable.Many(uint64(len(waiting)), "start has", "starts have"), f.slower.Duration)
		}
		if f.order.Top == 0 {
			slowest.Most = mostWaiting
		}
		for i := range waiting {
			slowest.Add(waiting[i])
		}
	}
	for i := range slowest.Pairs {
		if line, err := shown(&slowest.Pairs[i]); err != nil {
			return err
		} else if _, err := out.Write(line); err != nil {
			return output.Error(err)
		}
	}
	return errors.Join(first, output.Error(out.Flush()))
}
