package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// outputs creates files.
type outputs struct {
	pipes map[string]*os.File // opened before attaching, by their paths
}

// create creates a file; "-" and none is stdout, which stays open.
func (o *outputs) create(path string, stdout io.Writer) (io.WriteCloser, error) {
	if path == "-" || path == "" {
		return unclosed{stdout}, nil
	}
	if pipe := o.pipes[path]; pipe != nil {
		delete(o.pipes, path)
		return pipe, nil
	}
	return os.Create(path)
}

// openPipe opens a FIFO, which takes until somebody reads it, and says so.
func (o *outputs) openPipe(ctx context.Context, path string, stderr io.Writer) error {
	if o.pipes == nil {
		o.pipes = map[string]*os.File{}
	}
	for said := false; ; said = true {
		file, err := os.OpenFile(path, os.O_WRONLY|unix.O_NONBLOCK, 0)
		if err == nil {
			o.pipes[path] = file
			return nil
		}
		if !errors.Is(err, unix.ENXIO) {
			return err
		}
		if !said {
			fmt.Fprintf(stderr, "sdttrace: nobody reads the pipe %s yet; waiting, Ctrl-C ends\n", path)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// unclosed is an output that others use, too.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// checkOutput returns an error if the file could not be created at the end, or after attaching.
// It waits for the reader of a pipe.
func (f *traceFlags) checkOutput(ctx context.Context, stderr io.Writer) error {
	if f.out == "" || f.out == "-" {
		return nil
	}
	var err error
	if info, missing := os.Stat(f.out); missing == nil && info.Mode().Type() == os.ModeNamedPipe {
		err = f.outputs.openPipe(ctx, f.out, stderr)
	} else {
		err = checkOutput(f.out)
	}
	if err != nil {
		return fmt.Errorf("-o: %w", err)
	}
	return nil
}

// checkOutput returns why a file cannot be created or written. It leaves behind what was there.
func checkOutput(path string) error {
	switch info, err := os.Stat(path); {
	case err == nil && !info.Mode().IsRegular() && !info.IsDir():
		return nil
	case err == nil:
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return file.Close()
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	if target, err := os.Readlink(path); err == nil { // a link to what does not exist
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		return checkOutput(target)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, os.ErrExist) {
		return nil // somebody was faster
	}
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(path))
}
