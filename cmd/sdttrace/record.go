package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/go-usdt/usdt/attach"
)

// recordFlags are the flags that write events to a file as they are.
type recordFlags struct {
	path string
	size bytesValue
}

func (f *recordFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.path, "record", "", "instead of printing events, write them to this file, as they are: sdttrace replay FILE makes every other output of it later, on another machine too")
	flags.Var(&f.size, "record-size", "with --record: end when the file has this size, e.g. 100MB")
}

// recordExcludes are flags that say what is made of events: replay has them.
var recordExcludes = []string{"json", "format", "fields", "snapshot-on", "pprof", "folded", "html", "weigh", "perfetto", "span", "flow", "counter", "count", "sum", "avg", "min", "max", "hist", "lhist", "stddev", "quantiles", "latency", "slower", "key", "by", "interval", "top", "sort", "rate", "max-groups"}

// check returns an error for a flag that has no effect beside others.
func (f *recordFlags) check(flags *pflag.FlagSet) error {
	if f.size < 0 {
		return fmt.Errorf("--record-size %v is not positive", &f.size)
	}
	if f.path == "" {
		if flags.Changed("record-size") {
			return errors.New("--record-size is for --record")
		}
		return nil
	}
	for _, name := range recordExcludes {
		if flags.Changed(name) {
			return fmt.Errorf("--%s says what is made of events, and --record keeps them as they are: use sdttrace replay --%s afterwards", name, name)
		}
	}
	return nil
}

// open opens the file, before anything is attached to. What is in it stays until begin.
func (f *recordFlags) open(o *outputs) (*os.File, error) {
	if pipe := o.pipes[f.path]; pipe != nil {
		return pipe, nil
	}
	file, err := os.OpenFile(f.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--record: %w", err)
	}
	return file, nil
}

// abandon closes a file to which nothing will be written, and removes it if it is empty.
func (f *recordFlags) abandon(file *os.File) {
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		os.Remove(f.path)
	}
	file.Close()
}

// writeRecord writes the events of r until there are enough or no more.
func (f *traceFlags) writeRecord(r *attach.Recorder, file *os.File, stderr io.Writer) error {
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		if err := file.Truncate(0); err != nil {
			return err
		}
	}
	err := r.Write(file, &attach.RecordLimits{Events: f.limit, Bytes: int64(f.record.size)})
	size, sized := int64(0), false
	if info, statErr := file.Stat(); statErr == nil {
		size, sized = info.Size(), info.Mode().IsRegular()
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	switch {
	case err != nil:
		return fmt.Errorf("%w; what was written before can be read by sdttrace replay", err)
	case !f.quiet && sized:
		fmt.Fprintf(stderr, "sdttrace: wrote %d bytes to %s\n", size, f.record.path)
	}
	return nil
}
