package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/cgroup"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/format"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/interrupt"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/screen"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/topsource"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/word"
	"github.com/go-usdt/usdt/internal/top"
)

var topVerb = verb{
	use:   "top [PROBE...]",
	short: "Show how often probes fire, live",
	about: `top shows a table of probes by how often they fire, and draws it anew each --interval.
It counts every USDT probe of the machine's processes if no PROBE is named, also of processes
that start later. Programs in the kernel count, and nothing is recorded until one probe is
chosen. Where there is no terminal, top prints what fired, as count --by probe does.

  Up Down PgUp PgDn Home End   choose a probe
  Enter h    its events, at a high rate one in so many; a histogram of an argument
  s          where it is fired from, by frame pointers or call frames; again: the other way
  Esc        back; in the table, shows all again
  /          show only probes, or programs, that have these words; Enter keeps them
  r t n o    sort by rate, total, name, number of processes; again: the other way round
  p i        a line for each probe and process; leave out probes that never fired
  Space q    stop redrawing, and go on; end, as Ctrl-C does; Ctrl-Z stops

The kernel traps into a site to count as well: a probe that fires a million times a second
slows its program down. Probes with a semaphore, which programs test before they fire, are
switched on as by any tracer. The output of CMD is shown at the end.`,
	examples: `  sdttrace top                            every probe of the machine
  sdttrace top -p 4711                    those of a process
  sdttrace top 'postgresql:*' 'myapp:*'   the probes that match
  sdttrace top --cgroup system.slice/myapp.service
  sdttrace top --user                     without privileges: Go services of this user
  sdttrace top 'python:*' -- python3 script.py
  sdttrace top --interval 10s -o rates.txt   a line for each probe and interval`,
	does: func(f *traceFlags) deed { return &topping{sums: sums{traceFlags: f, interval: time.Second}} },
}

// topping counts probes, and shows them on the terminal if there is one.
type topping struct {
	sums
	path   string        // of a control group
	group  *cgroup.Group // nil if nothing is left to select here
	title  string
	screen *topScreen // nil unless on a terminal
}

func (d *topping) words(set word.Set) {
	set.Add("interval", &d.interval)
	set.Add("pid", &d.pids)
	set.Add("children", &d.children)
	set.Add("comm", &d.comm)
	set.Add("exe", &d.exe)
	set.Add("cgroup", &d.path)
	set.Add("container", &d.container)
	set.Add("pod", &d.pod)
	set.Add("user", &d.user)
	set.Add("rescan", &d.rescan)
	set.Add("force", &d.force)
	set.Add("link", &d.link)
	set.Add("where", &d.where)
	set.Add("duration", &d.duration)
	d.said(set, format.Names())
	set.Add("providers", &d.providers)
}

func (d *topping) take(args []string) ([]string, error) {
	if len(args) == 0 {
		args = everything
	}
	return args, nil
}

func (d *topping) check([]string) (err error) {
	if d.group, err = cgroup.Open(d.path, false, false); err != nil {
		return err
	}
	d.by, d.maxGroups = []string{"probe"}, topGroups
	d.order.Sort, d.shown.Names = "count", []string{"rate"}
	d.wait = d.rescan > 0 && len(d.command) == 0
	d.title = d.what()
	return nil
}

func (d *topping) run(ctx context.Context, probes []string, stdout, stderr io.Writer) error {
	in, out := screen.Terminal(os.Stdin), screen.Terminal(stdout)
	live := in != nil && out != nil && !d.json && d.out == ""
	if live || d.group != nil {
		d.by = []string{"probe", "pid"}
	}
	if d.group != nil && d.group.InKernel() {
		d.cgroup, d.group = cmp.Or(d.group.Dir, d.group.Path), nil
	}
	if live {
		d.screen = &topScreen{in: in, out: out, held: &screen.Held{W: stderr}}
		d.quiet, d.inBackground = true, true
		defer d.screen.held.Release()
		stderr = d.screen.held
	}
	return d.trace(ctx, d, probes, stdout, stderr)
}

// topScreen is the terminal on which probes are shown.
type topScreen struct {
	in, out *os.File
	held    *screen.Held
}

func (d *topping) open(ctx context.Context, probes []string, opts *attach.Options, to *showing) (session.Session, func() error, error) {
	a, err := attach.OpenAggregate(ctx, probes, attach.Count().By(d.by...).MaxGroups(d.maxGroups), opts)
	switch {
	case d.screen != nil:
		return a, func() error {
			return d.draw(ctx, &topsource.Source{
				Aggregate: a, Selectors: probes, Group: d.group, User: d.user, Prototypes: d.meanings.Table, Options: d.besides,
			})
		}, err
	case d.group != nil:
		to.screen = nil
		return a, func() error { return d.print(ctx, &cgroup.Aggregate{Aggregate: a, Group: d.group}, to) }, err
	}
	return a, func() error { return d.print(ctx, a, to) }, err
}

// draw draws the table until the user ends it, or a signal does, also one for a command.
func (d *topping) draw(ctx context.Context, s *topsource.Source) error {
	defer d.screen.held.Release()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-interrupt.Of(ctx).First:
			cancel()
		case <-ctx.Done():
		}
	}()
	err := top.Run(ctx, top.Options{
		Source: s, Interval: d.interval, What: d.title, NoMatch: s.None(everything), In: d.screen.in, Out: d.screen.out,
	})
	if err != nil {
		return err
	}
	if err := s.Aggregate.Stop(); err != nil {
		return err
	}
	_, err = s.Aggregate.Read() // what fired since the last one counts in the summary
	return err
}

// besides returns the options of a session beside the one that counts.
func (d *topping) besides() (*attach.Options, error) {
	opts, err := d.options()
	if err == nil && d.held != nil {
		opts.Target.PIDs = []int{d.held.PID()}
	}
	return opts, err
}

// topGroups is how many pairs of a probe and a process can fire in an interval.
const topGroups = 1 << 14

// what says what is counted.
func (f *topping) what() string {
	switch {
	case len(f.command) > 0:
		return f.command[0]
	case len(f.pids) > 0:
		return "-p " + strings.Trim(strings.ReplaceAll(fmt.Sprint(f.pids), " ", ","), "[]")
	case f.group != nil:
		return "--cgroup " + f.group.Path
	}
	return cmp.Or(f.comm, f.exe, f.container, f.pod)
}
