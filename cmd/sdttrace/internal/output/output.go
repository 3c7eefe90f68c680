// Package output creates the files that sdttrace writes.
package output

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Files creates files.
type Files struct {
	Pipes map[string]*os.File // opened before attaching, by their paths
}

// Create creates a file; "-" and none is stdout, which stays open. Only its owner can read a new
// file: what programs do and the texts in it are others'.
func (o *Files) Create(path string, stdout io.Writer) (io.WriteCloser, error) {
	if path == "-" || path == "" {
		return unclosed{stdout}, nil
	}
	if pipe := o.Pipes[path]; pipe != nil {
		delete(o.Pipes, path)
		return pipe, nil
	}
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, mode)
}

// mode is that of new files.
const mode = 0o600

// openPipe opens a FIFO, which takes until somebody reads it, and says so.
func (o *Files) openPipe(ctx context.Context, path string, stderr io.Writer) error {
	if o.Pipes == nil {
		o.Pipes = map[string]*os.File{}
	}
	for said := false; ; said = true {
		file, err := os.OpenFile(path, os.O_WRONLY|unix.O_NONBLOCK, 0)
		if err == nil {
			o.Pipes[path] = file
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

// Whole closes an output that nobody can read unless all of it was written, or that would mislead its
// readers, and removes the file if err says that it was not.
func Whole(out io.Closer, err error) error {
	err = cmp.Or(err, Error(out.Close()))
	file, ok := out.(*os.File)
	if err == nil || !ok {
		return err
	}
	if info, missing := os.Lstat(file.Name()); missing != nil || !info.Mode().IsRegular() || os.Remove(file.Name()) != nil {
		return err
	}
	return fmt.Errorf("%w; what was written is removed", err)
}

// unclosed is an output that others use as well.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// Check returns an error if a file could not be created at the end, or after attaching.
// It waits for the reader of a pipe.
func (o *Files) Check(ctx context.Context, path string, stderr io.Writer) error {
	if path == "" || path == "-" {
		return nil
	}
	var err error
	if info, missing := os.Stat(path); missing == nil && info.Mode().Type() == os.ModeNamedPipe {
		err = o.openPipe(ctx, path, stderr)
	} else {
		err = checkOutput(path)
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
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, os.ErrExist) {
		return nil // somebody was faster
	}
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(path))
}

// Error returns err as the error of the output, nil if its reader has closed it.
// An error of [os] has the path.
func Error(err error) error {
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return fmt.Errorf("write output: %w", err)
}
