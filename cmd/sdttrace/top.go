package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/top"
)

const topExample = `  sdttrace top                            every probe of the machine
  sdttrace top -p 4711                    those of a process
  sdttrace top 'postgresql:*' 'myapp:*'   those that match
  sdttrace top --cgroup system.slice/myapp.service
  sdttrace top --user                     without privileges: Go services of this user
  sdttrace top 'python:*' -- python3 script.py
  sdttrace top --interval 10s >rates.txt  without a terminal: a line for each probe and interval`

func newTopCommand(stdout, stderr io.Writer) *cobra.Command {
	f := traceFlags{link: "auto", format: "text"}
	var cgroup string
	cmd := &cobra.Command{
		Use:   "top [flags] [PROBE...] [-- CMD ARG...]",
		Short: "Show how often probes fire, live",
		Long: `top shows a table of probes by how often they fire, and draws it anew each
--interval. Without a PROBE it counts every USDT probe that a process of the machine
has mapped, also those of processes that start later. Programs in the kernel count,
and nothing is recorded until one probe is chosen.

  Up Down PgUp PgDn Home End   choose a probe
  Enter     its events, at a high rate one in so many, as with --sample
  h         a histogram of one of its arguments
  s         where it is fired from: its most frequent stacks, by frame pointers or, of
            code that is likely to have none, call frames; s again: the other way
  Esc       back; in the table, shows all again
  /         show only probes, or programs, that have these words; Enter keeps them
  r t n o   sort by rate, total, name, number of processes; again: the other way round
  p         a line for each probe and process, or for each probe
  i         leave out probes that never fired, or show them
  Space     stop redrawing, and go on
  q Ctrl-C  detach from everything and end; Ctrl-Z stops

Counting costs each event less than recording it, but the kernel traps into the
program's site all the same: a probe that fires a million times a second slows its
program down while top runs. Probes with a semaphore, which programs test before they
fire, are switched on as by any tracer.

--cgroup shows processes of a control group and those below it, as PATH is in
/sys/fs/cgroup. Of hierarchies of version 2 the kernel counts no others. Of version 1,
and in containers that see only a part of the hierarchy, it counts others, too, which
are not shown; of a process that ended before its group could be read top says so.

Without a terminal top prints what fired as sdttrace --count --by probe --rate
--interval does. What CMD writes is shown at the end.`,
		Example:           topExample,
		ValidArgsFunction: completeProbes,
		RunE: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				args, f.command = args[:dash], args[dash:]
				if len(f.command) == 0 {
					return usageError{errors.New("name a command after --")}
				}
			}
			if len(args) == 0 {
				args = []string{"*:*"}
			}
			if err := f.checkGiven(cmd.Flags()); err != nil {
				return usageError{err}
			}
			group, err := openCgroup(cgroup)
			if err != nil {
				return usageError{err}
			}
			return f.top(cmd.Context(), args, group, stdout, stderr)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.IntSliceVarP(&f.pids, "pid", "p", nil, "these processes only")
	flags.StringVar(&f.comm, "comm", "", "processes of this name only")
	flags.StringVar(&f.exe, "exe", "", "processes that run this file only")
	flags.StringVar(&cgroup, "cgroup", "", "show processes of this control group only, e.g. system.slice/myapp.service")
	flags.BoolVar(&f.user, "user", false, "need no privileges: Go services of this user that offer their probes")
	flags.DurationVar(&f.aggregate.interval, "interval", time.Second, "how often to draw, or print, the table")
	flags.DurationVar(&f.duration, "duration", 0, "end this long after the probes have been attached to, e.g. 10s")
	flags.BoolVar(&f.json, "json", false, "print one JSON object a line, on a terminal, too")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print only errors and the summary on stderr")
	flags.DurationVar(&f.rescan, "rescan", time.Second, "how often to look for probes that appear later; 0 for never")
	flags.StringSliceVar(&f.providers, "providers", nil, providersUsage)
	flags.StringVar(&f.link, "link", "auto", "how to attach: auto, multi or perf")
	flags.Lookup("link").Hidden = true
	return cmd
}

// top counts probes, and shows them on the terminal if there is one.
func (f *traceFlags) top(ctx context.Context, probes []string, group *cgroup, stdout, stderr io.Writer) error {
	f.aggregate.count, f.aggregate.by, f.aggregate.maxGroups = true, []string{"probe"}, topGroups
	f.aggregate.order = orderFlags{sort: "count", rate: true}
	f.wait = f.rescan > 0 && len(f.command) == 0
	what := f.what(group)
	grouped := group != nil
	if grouped && group.inKernel() {
		f.cgroup, group = group.dir, nil // nothing is left to select here
	}
	in, out := os.Stdin, terminal(stdout)
	switch {
	case out == nil || terminal(in) == nil || f.json:
		if grouped {
			f.aggregate.by = []string{"probe", "pid"}
		}
		if group == nil {
			return f.trace(ctx, probes, stdout, stderr)
		}
		f.show = func(ctx context.Context, a aggregate) error {
			return f.aggregate.print(ctx, &inCgroup{aggregate: a, group: group}, f.output, &f.meanings, nil, stdout)
		}
		return f.trace(ctx, probes, stdout, stderr)
	}
	f.aggregate.by = []string{"probe", "pid"}
	f.quiet, f.inBackground = true, true
	held := &heldOutput{w: stderr}
	defer held.release()
	f.show = func(ctx context.Context, a aggregate) error {
		s := &topSource{f: f, aggregate: a, selectors: probes, group: group}
		defer held.release()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() { // a signal ends the screen, also if it is meant for a command
			select {
			case <-interruptsOf(ctx).first:
				cancel()
			case <-ctx.Done():
			}
		}()
		return top.Run(ctx, top.Options{
			Source: s, Interval: f.aggregate.interval, What: what, In: in, Out: out,
		})
	}
	return f.trace(ctx, probes, stdout, held)
}

// topGroups is how many pairs of a probe and a process can fire in an interval.
const topGroups = 1 << 14

// what says what is counted.
func (f *traceFlags) what(group *cgroup) string {
	switch {
	case len(f.command) > 0:
		return f.command[0]
	case len(f.pids) > 0:
		return "-p " + strings.Trim(strings.ReplaceAll(fmt.Sprint(f.pids), " ", ","), "[]")
	case group != nil:
		return "--cgroup " + group.path
	}
	return cmp.Or(f.comm, f.exe)
}

// terminal returns the file that w is, if that is a terminal on which a cursor can be
// moved; else nil.
func terminal(w any) *os.File {
	file, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" || os.Getenv("TERM") == "" {
		return nil
	}
	if _, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS); err != nil {
		return nil
	}
	return file
}
