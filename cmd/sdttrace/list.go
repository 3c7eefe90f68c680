package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/flagvalue"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/format"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/interrupt"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/list"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/output"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/remark"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/screen"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/word"
	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/reader"
)

var listVerb = verb{
	use:   "list [PROVIDER...|PROBE...|FILE...]",
	short: "List the probes of processes, and who watches them",
	about: `list prints the probes that processes have mapped: a line for each provider if there are
several, then the probes; on a terminal, providers with over 100 have to be asked for. "4711 +5"
are six processes with the probe in the same file and state, "clean +2" three sites; --json has
each. WATCHED is how many of a provider's probes somebody watches, TRACERS how many tracers watch
a probe, where a semaphore counts them, SITE the state (clean; int3, a breakpoint; call, faster), BY
who watches: the processes that hold BPF links or perf events, "tracefs" for an event that is
enabled in uprobe_events, with its name, "shared-memory" for a tracer without privileges, and
"recorder" for the process's flight recorder, which is not counted. "?" marks a process that has
perf events and may be the one that uses such an event. Seeing watchers takes root, except for
the last two.

"declared" is a probe that its Go program has not loaded: start it with USDT_LOAD=1 if it does
not call provider.LoadAll. "!" marks a site to which sdttrace does not attach, since the kernel
cannot or would harm the program; -v and --json say why. -v shows arguments, with names and
types as the object has them, as they are known of its program, or as the note has them.

For uprobe:PATH:FUNC list prints the functions or instructions that sdttrace would attach to,
with their addresses in the file, or why it would not; for uprobe:PATH:FILE:* lines that have
code, with -v the variables in scope. --interval goes on until Ctrl-C ends it, also when no
probe matches any more: on a terminal in place, in JSON with the time.`,
	examples: `  sdttrace list               every probe of the machine
  sdttrace list -p 4711 'myapp:*'
  sdttrace list --interval 2s postgresql       all probes of a provider: who comes and goes
  sdttrace list -v 'postgresql:query__*'       with their arguments
  sdttrace list ./prog                         what a file has, with arguments
  sdttrace list 'uprobe:/usr/lib/*/libssl.so*:SSL_*'   functions`,
	does: func(f *traceFlags) deed { return &listing{traceFlags: f} },
}

// listing lists probes and functions.
type listing struct {
	defaults
	*traceFlags
	interval time.Duration
}

func (d *listing) words(set word.Set) {
	set.Add("interval", &d.interval)
	set.Add("pid", &d.pids)
	d.said(set, format.Names())
	set.Lookup("verbose").Usage = "the arguments of each probe"
	set.Add("providers", &d.providers)
}

func (d *listing) open(context.Context, []string, *attach.Options, *showing) (session.Session, func() error, error) {
	return nil, nil, errors.ErrUnsupported // it traces nothing
}

func (d *listing) run(ctx context.Context, probes []string, stdout, stderr io.Writer) (err error) {
	defer interrupt.Of(ctx).Prepare(stderr)()
	if d.quiet {
		stderr = io.Discard
	}
	stderr = screen.Folded(stderr, stderr)
	l := list.List{Silent: remark.Silences{}, Width: screen.Width(stdout)}
	functions, files := 0, 0
	for _, a := range probes {
		if list.IsFile(a) {
			files++
			continue
		}
		sel, err := list.Selector(a)
		if err != nil {
			return usageError{err}
		}
		if sel.Kind != reader.USDT {
			functions++
		}
		l.Selectors = append(l.Selectors, sel)
	}
	if err := flagvalue.CheckPIDs(d.pids); err != nil {
		return usageError{err}
	}
	switch {
	case len(d.command) > 0:
		return usageError{errors.New("list starts no command: it shows what runs")}
	case functions > 0 && d.interval > 0:
		return usageError{errors.New("--interval is for probes, whose watchers come and go, and not for functions")}
	case functions > 0 && functions < len(probes):
		return usageError{errors.New("list shows probes or functions, not both: list them by two commands")}
	case files > 0 && (files < len(probes) || len(d.pids) > 0 || d.interval > 0):
		return usageError{errors.New("list shows what is in files, or what processes have mapped: name files alone")}
	case len(d.providers) > 0 && !d.verbose && files == 0:
		return usageError{errors.New("--providers names arguments, which list shows with -v")}
	}
	if err := d.outputs.Check(ctx, d.out, stderr); err != nil {
		return err
	}
	if d.verbose || files > 0 {
		if l.Prototypes, err = loadPrototypes(d.providers); err != nil {
			return err
		}
		l.Verbose = d.verbose
	}
	if d.out != "" {
		file, err := d.outputs.Create(d.out, stdout)
		if err != nil {
			return err
		}
		defer func() { err = cmp.Or(err, file.Close()) }()
		stdout, l.Width = file, 0
	}
	asJSON := d.format == "json"
	switch {
	case files > 0:
		return interrupt.ErrorOf(ctx, l.Files(ctx, probes, asJSON, stdout))
	case functions > 0:
		return interrupt.ErrorOf(ctx, l.Functions(ctx, probes, d.pids, asJSON, stdout))
	case d.interval > 0:
		again := &list.Again{Interval: d.interval, JSON: asJSON, Read: func(stderr io.Writer) (*list.List, error) {
			now := l
			err := now.ReadWatched(ctx, d.pids, stderr)
			if errors.Is(err, list.ErrNoneMatches) {
				err = nil
			}
			now.MarkRefused(ctx, d.pids)
			return &now, err
		}}
		return again.Print(ctx, stdout, stderr)
	}
	if err := l.ReadWatched(ctx, d.pids, stderr); err != nil {
		return err
	}
	l.MarkRefused(ctx, d.pids)
	l.RemarkShared(printable.Writer(stderr))
	if asJSON {
		return output.Error(l.JSON(stdout))
	}
	return output.Error(l.Text(stdout))
}
