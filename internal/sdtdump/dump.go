package sdtdump

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"

	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/reader"
)

// dump prints what o selects and returns the exit code.
func dump(o *options, stdout, stderr io.Writer) (int, error) {
	o.color = wantsColor(stdout)
	d := &dumper{options: o}
	talk := printable.Behind(stderr)
	if isTerminal(talk) {
		d.progress = newProgress(talk, progressAfter)
	}
	printers := formatOf(o.format)
	if o.check {
		printers = newCheck
	}
	d.out, d.stderr = printers(d.progress.behind(stdout), o), printable.Writer(d.progress.behind(talk))
	err := d.read()
	d.progress.stop()
	switch {
	case err != nil:
		return exitFailed, err
	case d.matched == 0 && d.failed == 0:
		return exitFailed, d.nothing()
	case d.failed > 0:
		return exitFailed, nil
	}
	if c, ok := d.out.(*checkPrinter); ok && c.faulty {
		return exitFailed, nil
	}
	if c, ok := d.out.(*cPrinter); ok && len(c.written) == 0 {
		return exitFailed, fmt.Errorf("--format c writes the types of probes, and none of these %d has types that are known; --format text shows their arguments", d.matched)
	}
	return exitDone, nil
}

// read reads and prints everything.
func (d *dumper) read() (err error) {
	switch {
	case d.pid != 0:
		err = d.process()
	case d.all:
		err = d.processes()
	default:
		err = d.files()
	}
	if ferr := d.out.flush(); err == nil && ferr != nil {
		err = fmt.Errorf("write: %w", ferr)
	}
	return err
}

type dumper struct {
	*options
	out         printer
	stderr      io.Writer
	progress    *progress // nil without a terminal
	near        string    // what --probe may mean if nothing matches
	distance    int       // of near
	found       int       // probes
	matched     int       // probes that were selected
	failed      int       // errors reported
	declared    string    // what a process has declared and not loaded, for people
	denied      int       // processes that may not be read, with -a
	deniedFirst error     // the first error of a denied process
}

// report reports an error and goes on.
func (d *dumper) report(err error) {
	d.failed++
	for _, err := range printable.Joined(err) {
		fmt.Fprintf(d.stderr, "sdtdump: %v\n", err)
	}
}

// nothing says why no probe was printed.
func (d *dumper) nothing() error {
	searched := "the files"
	switch {
	case d.pid != 0:
		searched = fmt.Sprintf("process %d", d.pid)
	case d.all:
		searched = "the processes that this user may read"
	case len(d.targets) == 1:
		searched = d.targets[0]
	}
	if d.declared != "" {
		return fmt.Errorf("no such USDT probes in %s: %s", searched, d.declared)
	}
	if d.near != "" {
		return fmt.Errorf("no probe matches %q, but %s would; %s has %s", d.probe, d.near, searched, printable.Many(d.found, "other", "others"))
	}
	if d.found > 0 {
		return fmt.Errorf("no probe matches %q; %s has %s", d.probe, searched, printable.Many(d.found, "other", "others"))
	}
	if len(d.targets) == 1 && isGo(d.targets[0]) {
		return fmt.Errorf("no USDT probes in %s: a Go program declares them when it runs, look at its process (-p PID)", searched)
	}
	return fmt.Errorf("no USDT probes in %s", searched)
}

// isGo reports whether the file at path is a Go program.
func isGo(path string) bool {
	f, err := reader.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return f.IsGo()
}

// probes prints the selected probes. It returns an error of writing.
func (d *dumper) probes(probes iter.Seq2[reader.Probe, error]) error {
	current := new(reader.Probe) // one for all: the printers do not keep it
	for p, err := range probes {
		if err != nil {
			d.report(err)
			continue
		}
		d.found++
		if d.selector != nil && !d.selector.Match(p.Path, p.Provider, p.Name) {
			if instead, distance, ok := d.selector.Near(p.Provider, p.Name); ok && (d.near == "" || distance < d.distance) {
				d.near, d.distance = instead, distance
			}
			continue
		}
		d.matched++
		*current = p
		if err := d.out.probe(current); err != nil {
			return fmt.Errorf("write: %w", err)
		}
	}
	return nil
}

func (d *dumper) process() error {
	p, err := reader.OpenProcess(d.pid)
	if err != nil {
		return err
	}
	defer p.Close()
	if err := d.probes(p.Probes()); err != nil {
		return err
	}
	d.notLoaded(p)
	return nil
}

// notLoaded notes the selected probes that a process has declared and not loaded. Beside
// others they are talk, and without others the error.
func (d *dumper) notLoaded(p *reader.Process) {
	var selected []reader.Declared
	for _, declared := range p.Declared() {
		if d.selector == nil || d.selector.Match("", declared.Provider, declared.Name) {
			selected = append(selected, declared)
		}
	}
	if len(selected) == 0 || d.declared != "" {
		return
	}
	d.declared = selected[0].NotLoaded(p.PID(), len(selected)-1)
	if d.matched > 0 && d.pid != 0 {
		fmt.Fprintf(d.stderr, "sdtdump: %s\n", d.declared)
	}
}

func (d *dumper) processes() error {
	for p, err := range reader.Processes() {
		switch {
		case errors.Is(err, fs.ErrPermission):
			d.denied++
			d.deniedFirst = cmp.Or(d.deniedFirst, err)
			continue
		case err != nil:
			d.report(err)
			continue
		}
		d.progress.reads(fmt.Sprintf("process %d", p.PID()))
		if err := d.probes(p.Probes()); err != nil {
			return err
		}
		d.notLoaded(p)
	}
	switch {
	case d.denied == 1:
		fmt.Fprintf(d.stderr, "sdtdump: one process could not be read: %v\n", d.deniedFirst)
	case d.denied > 1:
		fmt.Fprintf(d.stderr, "sdtdump: %s could not be read; the first: %v\n", printable.Many(d.denied, "process", "processes"), d.deniedFirst)
	}
	return nil
}
