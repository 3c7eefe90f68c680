package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/breakpoint"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/format"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/output"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/word"
)

var printVerb = verb{
	use:   "print PROBE...",
	short: "Print each event, with its arguments",
	about: `print prints a line for each event of the probes: when, in which thread, which probe,
and its arguments by name. It is what sdttrace does without a verb.
After --signal QUIT Go's own dump has "unknown pc" for the goroutine that fired; its calls are here.`,
	examples: `  sdttrace -p 4711 'myapp:request_*'                the probes of a process
  sdttrace --where 'status >= 500 && path ~ "/api/*"' myapp:request_done
  sdttrace --fields time,tid,query postgresql:query__start   these parts only
  sdttrace --wait 'myapp:*'                         a service that starts later
  sdttrace --stack --limit 5 python:gc__start       with the calls that led there
  sdttrace --stop --where 'n < 0' myapp:balance     stand still there, for gdb -p
  sdttrace --args arg0,arg1 'uprobe:./srv:http::Server::*'   functions
  sdttrace 'python:*' -- python3 script.py          a command, from start to end
  sdttrace --from /var/crash --last 20 'myapp:*'    the last events that recordings have kept`,
	does: func(f *traceFlags) deed { return &printing{traceFlags: f} },
}

// printing prints events.
type printing struct {
	defaults
	*traceFlags
	fields format.Fields
	pause  breakpoint.Breakpoint
	last   int
}

func (d *printing) words(set word.Set) {
	set.Add("fields", (*[]string)(&d.fields))
	set.Add("last", &d.last)
	set.Add("stop", &d.pause.Stop)
	set.Add("signal", &d.pause.Signal)
	d.target(set)
	d.single(set)
	d.recordings(set)
	d.said(set, format.Names())
	d.arguments(set)
}

func (d *printing) check([]string) error {
	if d.given("last") && (d.given("limit") || d.pause.Set()) {
		return errors.New("--last prints events when tracing has ended: it excludes --limit, --stop and --signal")
	}
	if d.pause.Set() {
		switch flag := d.pause.Flag(); {
		case d.given("fields"):
			return fmt.Errorf("%s and --fields exclude each other", flag)
		case d.given("limit") && d.pause.Signal.Number != 0:
			return fmt.Errorf("%s and --limit exclude each other: the first N events get the signal by --signal NAME,N", flag)
		case d.given("limit"):
			return fmt.Errorf("%s and --limit exclude each other: --stop=N stops at the first N events", flag)
		}
		if err := d.pause.Check(d.where != "" || len(d.pids)+len(d.command) > 0); err != nil {
			return err
		}
	}
	return d.fields.CheckNames()
}

func (d *printing) open(ctx context.Context, probes []string, opts *attach.Options, to *showing) (session.Session, func() error, error) {
	if d.pause.Set() {
		if d.events.Signal = d.pause.Option(); !d.given("stack") {
			opts.Stack = attach.MaxStack
		}
		d.pause.Warn(d.pids, to.stderr)
	}
	d.events.Omit, d.events.Groups = d.fields.Omit(opts.Stack > 0), d.fields.Groups()
	if slices.ContainsFunc(probes, func(probe string) bool { return d.meanings.Apart(d.fields, probe) }) {
		d.events.Omit &^= attach.OmitProcess
	}
	s, err := attach.OpenEvents(ctx, probes, &d.events, opts)
	if wrong := (*attach.OptionError)(nil); errors.As(err, &wrong) && wrong.Option == "Signal" {
		err = usageError{fmt.Errorf("%s: %w", d.pause.Flag(), wrong.Err)}
	}
	if err != nil {
		return nil, nil, err
	}
	if len(d.fields) == 0 {
		return s, func() error { return d.print(s, to) }, nil
	}
	if err := d.fields.Check(s, &d.meanings); err != nil {
		return nil, nil, errors.Join(usageError{err}, s.Close())
	}
	return s, func() error { return d.printFields(s, to.stdout) }, nil
}

// print writes events until there are enough or no more.
func (f *printing) print(s *attach.Session, to *showing) error {
	out := f.lines(to.stdout, s)
	var line []byte
	n := uint64(0)
	var first error // of an event; later events follow
	for ev, err := range s.Events() {
		if err != nil && ev.Probe == nil {
			return errors.Join(err, out.end())
		}
		first = cmp.Or(first, err)
		f.meanings.Event(&ev, f.output.Readable)
		line = f.output.Event(line[:0], &ev)
		if err := out.write(line); err != nil {
			return output.Error(err)
		}
		if n++; n == f.limit {
			break
		}
		if f.pause.Set() {
			if err := out.Flush(); err != nil {
				return output.Error(err)
			}
			if f.pause.Sent(&ev, to.stderr, s.Stop) {
				break
			}
		}
	}
	return errors.Join(first, output.Error(out.end()))
}

// conclude says which processes go on.
func (f *printing) conclude(s session.Session, stderr io.Writer) error {
	return f.pause.Close(f.quiet, stderr)
}

// printFields writes parts of events until there are enough lines or no more events.
func (f *printing) printFields(s *attach.Session, stdout io.Writer) error {
	out := f.lines(stdout, s)
	var line []byte
	var p format.Picked
	n, known := uint64(0), len(s.Plan()) > 0
	var first error // of an event; later events follow
	for v, err := range s.Views() {
		if v == nil {
			return errors.Join(err, out.end())
		}
		if !known {
			if err := f.fields.Check(s, &f.meanings); err != nil {
				return usageError{err}
			}
			known = true
		}
		first = cmp.Or(first, err, f.fields.Pick(v, &p, &f.meanings, f.output.Readable))
		line = f.output.Fields(f.fields, line[:0], &p)
		if err := out.write(line); err != nil {
			return output.Error(err)
		}
		if len(line) == 0 {
			continue
		}
		if n++; n == f.limit {
			break
		}
	}
	return errors.Join(first, output.Error(out.end()))
}

// lines are written as events come, or the last ones at the end.
type lines struct {
	*bufio.Writer
	last    *output.Last // nil for all
	session *attach.Session
}

func (f *printing) lines(stdout io.Writer, s *attach.Session) *lines {
	out := &lines{Writer: bufio.NewWriterSize(stdout, 64<<10), session: s}
	if f.last > 0 {
		out.last = output.NewLast(f.last)
	}
	return out
}

// write writes a line, and all that have been written if no event is waiting.
func (l *lines) write(line []byte) error {
	if l.last != nil {
		_, err := l.last.Write(line)
		return err
	}
	if _, err := l.Write(line); err != nil || !l.session.Idle() {
		return err
	}
	return l.Flush()
}

// end writes what has not been written yet.
func (l *lines) end() error {
	if l.last != nil {
		if _, err := l.last.WriteTo(l); err != nil {
			return err
		}
	}
	return l.Flush()
}
