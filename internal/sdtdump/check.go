package sdtdump

import (
	"fmt"
	"io"

	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/reader"
)

// checkPrinter writes what tracers would miss or refuse in each object with probes, a
// line for each fault:
//
//	/usr/bin/python3.11: gdb: without .stapsdt.base it reads no probes
type checkPrinter struct {
	w        io.Writer
	reported map[string]bool // objects, by the path that opens them
	faulty   bool
}

func newCheck(w io.Writer, _ *options) printer {
	return &checkPrinter{w: printable.Writer(w), reported: map[string]bool{}}
}

func (c *checkPrinter) flush() error { return nil }

// probe checks the object of p if p is its first probe.
func (c *checkPrinter) probe(p *reader.Probe) error {
	path := p.Attachable()
	if c.reported[path] {
		return nil
	}
	c.reported[path] = true
	faults, err := check(path)
	if err != nil {
		faults = []error{err}
	}
	for _, fault := range faults {
		c.faulty = true
		if _, err := fmt.Fprintf(c.w, "%s: %v\n", p.Path, fault); err != nil {
			return err
		}
	}
	if len(faults) == 0 {
		_, err = fmt.Fprintf(c.w, "%s: libbpf, bpftrace, bcc, gdb, perf and the kernel accept every probe\n", p.Path)
	}
	return err
}

// check returns the faults of the object at path.
func check(path string) ([]error, error) {
	f, err := reader.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	switch err := f.Check().(type) {
	case nil:
		return nil, nil
	case interface{ Unwrap() []error }:
		return err.Unwrap(), nil
	default:
		return []error{err}, nil
	}
}
