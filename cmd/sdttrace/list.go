package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/format"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/interrupt"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/output"
	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/internal/watch"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/prototype"
	"github.com/go-usdt/usdt/reader"
)

var listVerb = verb{
	use:   "list [PROBE...]",
	short: "List the probes of processes, and who watches them",
	about: `list prints the probes that processes have mapped, how many tracers watch each, where a
semaphore counts them, the state of the site (clean; int3, a breakpoint; call, faster), and
who watches: the processes that hold BPF links or perf events, "tracefs" for an event that is
enabled in uprobe_events, with its name, "shared-memory" for a tracer without privileges, and
"recorder" for the process's flight recorder, which is not counted. "?" marks a process that
has perf events and may be the one that uses such an event. Seeing watchers takes root, except
for the last two.

"declared" is a probe that its Go program has not loaded: start it with USDT_LOAD=1 if it does
not call provider.LoadAll. "!" marks a site to which sdttrace does not attach, since the kernel
cannot or would harm the program; -v and --json say why. -v shows arguments, with names and
types as the object has them, as they are known of its program, or as the note has them.

For uprobe:PATH:FUNC list prints the functions or instructions that sdttrace would attach to,
with their addresses in the file, or why it would not. --interval goes on until Ctrl-C ends
it, also when no probe matches any more: on a terminal in place, in JSON with the time.`,
	examples: `  sdttrace list               every probe of the machine
  sdttrace list -p 4711 'myapp:*'
  sdttrace list --interval 2s 'postgresql:*'   who comes and goes
  sdttrace list -v 'postgresql:query__*'       with their arguments
  sdttrace list 'uprobe:/usr/lib/*/libssl.so*:SSL_*'   functions`,
	does: func(f *traceFlags) deed { return &listing{traceFlags: f} },
}

// listing lists probes and functions.
type listing struct {
	defaults
	*traceFlags
	interval time.Duration
}

func (d *listing) words(set wordSet) {
	set.add("interval", &d.interval)
	set.add("pid", &d.pids)
	d.said(set, format.Names())
	set.Lookup("verbose").Usage = "the arguments of each probe"
	set.add("providers", &d.providers)
}

func (d *listing) open(context.Context, []string, *attach.Options, *showing) (session, func() error, error) {
	return nil, nil, errors.ErrUnsupported // it traces nothing
}

func (d *listing) run(ctx context.Context, probes []string, stdout, stderr io.Writer) (err error) {
	defer interrupt.Of(ctx).Prepare(stderr)()
	if d.quiet {
		stderr = io.Discard
	}
	l := lister{silent: silences{}}
	functions := 0
	for _, a := range probes {
		sel, err := selector.Parse(a)
		if err != nil {
			return usageError{err}
		}
		if sel.Kind != selector.USDT {
			functions++
		}
		l.selectors = append(l.selectors, sel)
	}
	for _, pid := range d.pids {
		if pid <= 0 {
			return usageError{fmt.Errorf("process id %d is not positive", pid)}
		}
	}
	switch {
	case len(d.command) > 0:
		return usageError{errors.New("list starts no command: it shows what runs")}
	case d.interval < 0:
		return usageError{fmt.Errorf("--interval %v is not positive", d.interval)}
	case functions > 0 && d.interval > 0:
		return usageError{errors.New("--interval is for probes, whose watchers come and go, and not for functions")}
	case functions > 0 && functions < len(probes):
		return usageError{errors.New("list shows probes or functions, not both: list them by two commands")}
	case len(d.providers) > 0 && !d.verbose:
		return usageError{errors.New("--providers names arguments, which list shows with -v")}
	}
	if err := d.outputs.Check(ctx, d.out, stderr); err != nil {
		return err
	}
	if d.verbose {
		if l.prototypes, err = loadPrototypes(d.providers); err != nil {
			return err
		}
		l.verbose = true
	}
	if d.out != "" {
		file, err := d.outputs.Create(d.out, stdout)
		if err != nil {
			return err
		}
		defer func() { err = cmp.Or(err, file.Close()) }()
		stdout = file
	}
	asJSON := d.format == "json"
	switch {
	case functions > 0:
		return interrupt.ErrorOf(ctx, listFunctions(ctx, probes, d.pids, asJSON, stdout))
	case d.interval > 0:
		again := &relisting{interval: d.interval, json: asJSON, read: func(stderr io.Writer) (*lister, error) {
			now := l
			err := now.readWatched(ctx, d.pids, stderr)
			if errors.Is(err, errNoneMatches) {
				err = nil
			}
			now.markRefused(ctx, d.pids)
			return &now, err
		}}
		return again.print(ctx, stdout, stderr)
	}
	if err := l.readWatched(ctx, d.pids, stderr); err != nil {
		return err
	}
	l.markRefused(ctx, d.pids)
	l.remarkShared(printable.Writer(stderr))
	if asJSON {
		return output.Error(l.json(stdout))
	}
	return output.Error(l.text(stdout))
}

// liveProbe is a line of the list.
type liveProbe struct {
	Time      *time.Time `json:"time,omitempty"` // with --interval
	PID       int        `json:"pid"`
	Comm      string     `json:"comm"`
	Provider  string     `json:"provider"`
	Name      string     `json:"name"`
	Path      string     `json:"path"`
	Address   uint64     `json:"address"`
	Semaphore *uint16    `json:"semaphore_value,omitempty"`
	Local     uint16     `json:"local_watchers,omitempty"`
	Recorded  bool       `json:"recorded,omitempty"`
	State     string     `json:"state,omitempty"`
	Args      string     `json:"args"`
	Reason    string     `json:"reason,omitempty"` // why it cannot be traced
	// Arguments are those that have names, with -v.
	Arguments []listedArgument `json:"arguments,omitempty"`

	Watchers []watch.Watcher `json:"watchers,omitempty"`

	opens  string // leads to the file from here
	offset uint64 // of the site, in the file
}

type listedArgument struct {
	Name string `json:"name"`
	Type string `json:"type"`

	declared string // as C
}

type lister struct {
	verbose    bool
	prototypes *prototype.Table // of -v
	selectors  []selector.Selector
	probes     []liveProbe
	silent     silences
	near       string // what may have been meant if nothing matches
	distance   int    // of near
}

func (l *lister) wants(p *reader.Probe) bool {
	for i := range l.selectors {
		s := &l.selectors[i]
		if s.Match(p.Path, p.Provider, p.Name) {
			return true
		}
		if instead, distance, ok := s.Near(p.Provider, p.Name); ok && (l.near == "" || distance < l.distance) {
			l.near, l.distance = instead, distance
		}
	}
	return len(l.selectors) == 0
}

func (l *lister) read(ctx context.Context, pids []int, stderr io.Writer) error {
	if len(pids) == 0 {
		hidden, first := 0, error(nil)
		for p, err := range reader.Processes() {
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case err == nil:
				l.process(p)
			case errors.Is(err, procfs.ErrNoProc):
				return err
			case errors.Is(err, os.ErrPermission):
				hidden++
				first = cmp.Or(first, err)
			}
		}
		l.silent.announce(stderr)
		switch {
		case hidden == 1:
			fmt.Fprintf(stderr, "sdttrace: one process could not be read: %v\n", first)
		case hidden > 1:
			fmt.Fprintf(stderr, "sdttrace: %d processes could not be read; the first: %v\n", hidden, first)
		}
	}
	for _, pid := range pids {
		p, err := reader.OpenProcess(pid)
		if err != nil {
			return err
		}
		l.process(p)
		p.Close()
	}
	if len(l.probes) == 0 {
		if l.near != "" {
			return fmt.Errorf("%w, but %s would", errNoneMatches, l.near)
		}
		return errNoneMatches
	}
	return nil
}

var errNoneMatches = errors.New("no probe matches")

// process adds the probes of proc. It leaves out what cannot be read, since the
// process may be about to end.
func (l *lister) process(proc *reader.Process) {
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", proc.PID()))
	if err != nil {
		return
	}
	for p, err := range proc.Probes() {
		if err != nil || p.Live == nil || !l.wants(&p) {
			continue
		}
		lp := liveProbe{
			PID: proc.PID(), Comm: strings.TrimSpace(string(comm)), Provider: p.Provider, Name: p.Name,
			Path: p.Path, Address: p.Live.Address, Args: p.Args, State: state(&p),
			opens: p.Attachable(), offset: p.Offset,
		}
		if n, err := p.SemaphoreValue(); err == nil {
			lp.Semaphore = &n
		}
		if n, err := p.LocalWatchers(); err == nil {
			lp.Local = n
		}
		if recorded, err := p.Recorded(); err == nil {
			lp.Recorded = recorded
		}
		if l.verbose {
			lp.Arguments = l.arguments(&p)
		}
		l.probes = append(l.probes, lp)
	}
	for _, d := range proc.Declared() {
		var p reader.Probe
		p.Provider, p.Name = d.Provider, d.Name
		if l.wants(&p) {
			l.probes = append(l.probes, liveProbe{
				PID: proc.PID(), Comm: strings.TrimSpace(string(comm)), Provider: d.Provider, Name: d.Name,
				State: stateDeclared, Reason: d.NotLoaded(proc.PID(), 0),
			})
		}
	}
}

// stateDeclared is the state of a probe that its process has not loaded.
const stateDeclared = "declared"

// arguments returns the arguments of a probe that have names.
func (l *lister) arguments(p *reader.Probe) (all []listedArgument) {
	if p.Type != nil {
		for i := range p.Type.Fields {
			f := &p.Type.Fields[i]
			all = append(all, listedArgument{f.Name, f.CType, f.Declare()})
		}
		return all
	}
	known := l.prototypes.Lookup(p.Provider, p.Name, p.Arguments(), notes.Class(p.Class))
	if known == nil {
		return nil
	}
	for i := range known.Params {
		all = append(all, listedArgument{known.Params[i].Name, known.Params[i].Type, known.Declare(i)})
	}
	return all
}

// declared returns the arguments as a list in parentheses, or as the note has them.
func (p *liveProbe) declared() string {
	if len(p.Arguments) == 0 {
		return printable.String(p.Args)
	}
	var all []string
	for _, a := range p.Arguments {
		all = append(all, printable.String(a.declared))
	}
	return "(" + strings.Join(all, ", ") + ")"
}

// state returns the state of the site, "" if the site cannot be read.
func state(p *reader.Probe) string {
	site, err := p.Site()
	if err != nil {
		return ""
	}
	return site.State.String()
}

func (l *lister) json(w io.Writer) error {
	enc := json.NewEncoder(printable.JSONWriter(w))
	enc.SetEscapeHTML(false)
	for i := range l.probes {
		if err := enc.Encode(&l.probes[i]); err != nil {
			return err
		}
	}
	return nil
}

func (l *lister) text(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	arguments := ""
	if l.verbose {
		arguments = "ARGUMENTS\t"
	}
	fmt.Fprintln(tw, "PID\tCOMM\tPROBE\t"+arguments+"WATCHED\tSITE\tBY\tPATH")
	for i := range l.probes {
		p := &l.probes[i]
		watched := "-"
		if p.Semaphore != nil {
			watched = fmt.Sprint(p.count())
		}
		state, path := p.State, printable.String(p.Path)
		if p.Reason != "" && state != stateDeclared {
			state += "!"
		}
		if l.verbose {
			arguments = p.declared() + "\t"
			if p.Reason != "" {
				path += " (refused: " + printable.String(p.Reason) + ")"
			}
		}
		fmt.Fprintf(tw, "%d\t%s\t%s:%s\t%s%s\t%s\t%s\t%s\n", p.PID, printable.String(p.Comm),
			printable.String(p.Provider), printable.String(p.Name), arguments, watched, state, p.by(), path)
	}
	return tw.Flush()
}
