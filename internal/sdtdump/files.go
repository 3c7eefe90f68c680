package sdtdump

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"

	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/reader"
)

// opened is a file whose headers have been read, nil if it is not wanted.
type opened struct {
	path   string
	file   *reader.File
	events bool // path is an events directory
	err    error
}

// files prints the probes of the targets, in the order of the targets and of
// the names in a directory. Headers are read in parallel, some files ahead.
func (d *dumper) files() error {
	var (
		jobs = make(chan func())
		todo = make(chan chan opened, 64)
		stop = make(chan struct{})
	)
	for range runtime.GOMAXPROCS(0) {
		go func() {
			for job := range jobs {
				job()
			}
		}()
	}
	go func() {
		defer close(jobs)
		defer close(todo)
		for _, t := range d.targets {
			walk(t, func(path string, named bool, err error) bool {
				result := make(chan opened, 1)
				select {
				case todo <- result:
				case <-stop:
					return false
				}
				if err != nil {
					result <- opened{path: path, err: err}
					return true
				}
				jobs <- func() { result <- open(path, named) }
				return true
			})
		}
	}()
	var first error
	for result := range todo {
		o := <-result
		d.progress.reads(o.path)
		if first == nil && o.err != nil {
			d.report(o.err)
		}
		if o.events && first == nil {
			if first = d.eventsDir(o.path); first != nil {
				close(stop)
			}
		}
		if o.file == nil {
			continue
		}
		if first == nil {
			if first = d.probes(o.file.Probes()); first != nil {
				close(stop)
			}
		}
		o.file.Close()
	}
	return first
}

// open opens the file at path. Files of other formats are an error only if the
// user named them.
func open(path string, named bool) opened {
	if named && reader.IsEventsDir(path) {
		return opened{path: path, events: true}
	}
	f, err := reader.Open(path)
	if err != nil {
		if !named && errors.Is(err, reader.ErrNotELF) {
			err = nil
		}
		return opened{path: path, err: err}
	}
	return opened{path: path, file: f}
}

// eventsDir prints the probes that an events directory shows.
func (d *dumper) eventsDir(path string) error {
	if d.check || d.format != "text" && d.format != "json" && d.format != "markdown" {
		d.report(fmt.Errorf("%s: %w, which --check and --format %s need: look at its process (-p PID)", path, reader.ErrNoObject, d.format))
		return nil
	}
	return d.probes(reader.EventsDirProbes(path))
}

// walk calls visit for target, or for the regular files below it if it is a
// directory and no events directory, until visit returns false.
func walk(target string, visit func(path string, named bool, err error) bool) {
	info, err := procfs.Stat(target)
	if err != nil || !info.IsDir() || reader.IsEventsDir(target) {
		visit(target, true, nil)
		return
	}
	walkDirectory(target, visit)
}

// walkDirectory calls visit for the regular files below dir, and for directories that cannot be
// read. It follows no links.
func walkDirectory(dir string, visit func(path string, named bool, err error) bool) bool {
	entries, err := procfs.ReadDir(dir)
	if err != nil {
		return visit(dir, false, err)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir():
			if !walkDirectory(path, visit) {
				return false
			}
		case e.Type().IsRegular():
			if !visit(path, false, nil) {
				return false
			}
		}
	}
	return true
}
