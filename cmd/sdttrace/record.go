package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/flagvalue"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/recording"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/word"
	"github.com/go-usdt/usdt/internal/printable"
)

var recordVerb = verb{
	use:   "record -o FILE PROBE...",
	short: "Write events to a file, to ask of it later",
	about: `record writes events to a file as they arrive, with all that decodes them, which costs
less than printing them. Verbs with --from FILE then print, filter, count and draw them as
live ones, as often as wanted and on another machine. The file can be read while it grows,
and if sdttrace is killed. With --stack it has the stacks, with their names. A file that is
there is kept as FILE.old.`,
	examples: `  sdttrace record -o day.usdt 'postgres*:query__*'   and later:
  sdttrace count --by comm --from day.usdt
  sdttrace --where 'query ~ "UPDATE*"' --from day.usdt
  sdttrace record -o slow.usdt --where 'took > 10ms' --duration 1h 'myapp:*'
  sdttrace record -o some.usdt --sample 100 --size 100MB 'myapp:*'
  sdttrace record -o day.usdt --stack 'myapp:*'      with stacks, and later:
  sdttrace profile -o day.pb.gz --from day.usdt`,
	does: func(f *traceFlags) deed { return &keeping{traceFlags: f} },
}

// keeping writes events to a file as they are.
type keeping struct {
	defaults
	*traceFlags
	size flagvalue.Bytes
}

func (d *keeping) words(set word.Set) {
	set.Add("size", &d.size)
	d.target(set)
	d.single(set)
	d.said(set, nil)
	set.Lookup("output").Usage = "the file to write"
	d.arguments(set)
}

func (d *keeping) check([]string) error {
	switch {
	case d.size < 0:
		return fmt.Errorf("--size %v is not positive", &d.size)
	case d.out == "":
		return errors.New("name the file to write: -o FILE")
	case d.out == "-":
		return errors.New("-o - is no file: a recording is not for a pipe; ./- is a file of that name")
	}
	return nil
}

func (d *keeping) writes() bool { return true }

func (d *keeping) open(ctx context.Context, probes []string, opts *attach.Options, to *showing) (session.Session, func() error, error) {
	file, err := d.file()
	if err != nil {
		return nil, nil, err
	}
	r, err := attach.Record(ctx, probes, d.recorded(), opts)
	if err != nil {
		d.abandon(file)
		return nil, nil, err
	}
	return r, func() error { return d.write(r, file, to.stderr) }, nil
}

// file opens the file, before anything is attached to. A file that is already there keeps its
// contents until then.
func (f *keeping) file() (*os.File, error) {
	if pipe := f.outputs.Pipes[f.out]; pipe != nil {
		return pipe, nil
	}
	file, err := os.OpenFile(f.out, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("-o: %w", err)
	}
	return file, nil
}

// abandon closes a file to which nothing will be written, and removes it if it is empty.
func (f *keeping) abandon(file *os.File) {
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		os.Remove(f.out)
	}
	file.Close()
}

// write writes the events of r until there are enough or no more.
func (f *keeping) write(r *attach.Recorder, file *os.File, stderr io.Writer) error {
	say := stderr
	if f.quiet {
		say = io.Discard
	}
	file, err := recording.Renew(f.out, file, say)
	if err != nil {
		return err
	}
	err = r.Write(file, &attach.RecordLimits{Events: f.limit, Bytes: int64(f.size)})
	size, sized := int64(0), false
	if info, statErr := file.Stat(); statErr == nil {
		size, sized = info.Size(), info.Mode().IsRegular()
	}
	if sized && size == 0 {
		os.Remove(f.out)
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	switch st, _ := r.Stats(); {
	case err != nil && st.Received == 0:
		return fmt.Errorf("%w; no event was written", err)
	case err != nil:
		return fmt.Errorf("%w; sdttrace --from reads what was recorded before, %s", err, printable.Many(st.Received, "event", "events"))
	case !f.quiet && sized:
		fmt.Fprintf(stderr, "sdttrace: wrote %s to %s\n", printable.Many(size, "byte", "bytes"), f.out)
	}
	return nil
}
