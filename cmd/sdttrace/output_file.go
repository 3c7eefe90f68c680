package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// createOutput creates a file; "-" is stdout, which stays open.
func createOutput(path string, stdout io.Writer) (io.WriteCloser, error) {
	if path == "-" {
		return unclosed{stdout}, nil
	}
	return os.Create(path)
}

// unclosed is an output that others use, too.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// checkOutputs returns an error if a file could not be created at the end, or after attaching.
func (f *traceFlags) checkOutputs() error {
	for _, o := range []struct{ flag, path string }{
		{"pprof", f.profile.pprof}, {"folded", f.profile.folded}, {"perfetto", f.timeline.path}, {"html", f.page.path},
	} {
		if o.path == "" || o.path == "-" {
			continue
		}
		if err := checkOutput(o.path); err != nil {
			return fmt.Errorf("--%s: %w", o.flag, err)
		}
	}
	return nil
}

// checkOutput returns why a file cannot be created or written. It leaves behind what was there.
// A pipe is not tried: its reader would take that for the end.
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
