package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/format"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/output"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
)

var printVerb = verb{
	use:   "print PROBE...",
	short: "Print each event, with its arguments",
	about: `print prints a line for each event of the probes: when, in which thread, which probe,
and its arguments by name. It is what sdttrace does without a verb.`,
	examples: `  sdttrace -p 4711 'myapp:request_*'                the probes of a process
  sdttrace --where 'status >= 500 && path ~ "/api/*"' myapp:request_done
  sdttrace --fields time,tid,query postgresql:query__start   these parts only
  sdttrace --wait 'myapp:*'                         a service that starts later
  sdttrace --stack --limit 5 python:gc__start       with the calls that led there
  sdttrace --args arg0,arg1 'uprobe:./srv:http::Server::*'   functions
  sdttrace 'python:*' -- python3 script.py          a command, from start to end
  sdttrace --json --from /var/crash 'myapp:*'       what recordings have kept`,
	does: func(f *traceFlags) deed { return &printing{traceFlags: f} },
}

// printing prints events.
type printing struct {
	defaults
	*traceFlags
	fields format.Fields
}

func (d *printing) words(set wordSet) {
	set.add("fields", (*[]string)(&d.fields))
	d.target(set)
	d.single(set)
	d.recordings(set)
	d.said(set, format.Names())
	d.arguments(set)
}

func (d *printing) check([]string) error { return d.fields.CheckNames() }

func (d *printing) open(ctx context.Context, probes []string, opts *attach.Options, to *showing) (session.Session, func() error, error) {
	opts.Omit = d.fields.Omit(d.stack.Calls > 0)
	s, err := attach.Open(ctx, probes, opts)
	if err != nil {
		return nil, nil, err
	}
	if len(d.fields) == 0 {
		return s, func() error { return d.print(s, to.stdout) }, nil
	}
	if err := d.fields.Check(s); err != nil {
		return nil, nil, errors.Join(usageError{err}, s.Close())
	}
	return s, func() error { return d.printFields(s, to.stdout) }, nil
}

// print writes events until there are enough or no more.
func (f *printing) print(s *attach.Session, stdout io.Writer) error {
	out := bufio.NewWriterSize(stdout, 64<<10)
	var line []byte
	n := uint64(0)
	var first error // of an event; later events follow
	for ev, err := range s.Events() {
		if err != nil && ev.Probe == nil {
			return errors.Join(err, out.Flush())
		}
		first = cmp.Or(first, err)
		if f.output.Readable {
			f.meanings.Event(&ev)
		}
		line = f.output.Event(line[:0], &ev)
		if err := writeLine(out, line, s); err != nil {
			return output.Error(err)
		}
		if n++; n == f.limit {
			break
		}
	}
	return errors.Join(first, output.Error(out.Flush()))
}

// printFields writes parts of events until there are enough lines or no more events.
func (f *printing) printFields(s *attach.Session, stdout io.Writer) error {
	out := bufio.NewWriterSize(stdout, 64<<10)
	var line []byte
	var p format.Picked
	n, known := uint64(0), len(s.Plan()) > 0
	var first error // of an event; later events follow
	for v, err := range s.Views() {
		if v == nil {
			return errors.Join(err, out.Flush())
		}
		if !known {
			if err := f.fields.Check(s); err != nil {
				return usageError{err}
			}
			known = true
		}
		first = cmp.Or(first, err, f.fields.Pick(v, &p))
		if f.output.Readable {
			p.Explain(&f.meanings)
		}
		line = f.output.Fields(f.fields, line[:0], &p)
		if err := writeLine(out, line, s); err != nil {
			return output.Error(err)
		}
		if len(line) == 0 {
			continue
		}
		if n++; n == f.limit {
			break
		}
	}
	return errors.Join(first, output.Error(out.Flush()))
}

// writeLine writes a line, and all that have been written if no event is waiting.
func writeLine(out *bufio.Writer, line []byte, s *attach.Session) error {
	if _, err := out.Write(line); err != nil || !s.Idle() {
		return err
	}
	return out.Flush()
}
