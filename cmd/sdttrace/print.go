package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/go-usdt/usdt/attach"
)

// print writes events until there are enough or no more.
func (f *traceFlags) print(s *attach.Session, stdout io.Writer) error {
	out := bufio.NewWriterSize(stdout, 64<<10)
	var line []byte
	n := uint64(0)
	var first error // of an event; later events follow
	for ev, err := range s.Events() {
		if err != nil && ev.Probe == nil {
			return errors.Join(err, out.Flush())
		}
		first = cmp.Or(first, err)
		if f.output.readable {
			f.meanings.event(&ev)
		}
		line = f.output.event(line[:0], &ev)
		if err := writeLine(out, line, s); err != nil {
			return outputError(err)
		}
		if n++; n == f.limit {
			break
		}
	}
	return errors.Join(first, outputError(out.Flush()))
}

// printFields writes parts of events until there are enough lines or no more events.
func (f *traceFlags) printFields(s *attach.Session, stdout io.Writer) error {
	out := bufio.NewWriterSize(stdout, 64<<10)
	var line []byte
	var p picked
	n, known := uint64(0), len(s.Plan()) > 0
	var first error // of an event; later events follow
	for v, err := range s.Views() {
		if v == nil {
			return errors.Join(err, out.Flush())
		}
		if !known {
			if err := f.fields.check(s); err != nil {
				return err
			}
			known = true
		}
		first = cmp.Or(first, err, f.fields.pick(v, &p))
		if f.output.readable {
			p.explain(&f.meanings)
		}
		line = f.output.fields(f.fields, line[:0], &p)
		if err := writeLine(out, line, s); err != nil {
			return outputError(err)
		}
		if len(line) == 0 {
			continue
		}
		if n++; n == f.limit {
			break
		}
	}
	return errors.Join(first, outputError(out.Flush()))
}

// writeLine writes a line, and all that have been written if no event is waiting.
func writeLine(out *bufio.Writer, line []byte, s *attach.Session) error {
	if _, err := out.Write(line); err != nil || !s.Idle() {
		return err
	}
	return out.Flush()
}

// outputError returns err as the error of the output, nil if its reader has closed it.
// An error of [os] has the path.
func outputError(err error) error {
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return fmt.Errorf("write output: %w", err)
}
