package list

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

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/remark"
	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/internal/watch"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/prototype"
	"github.com/go-usdt/usdt/reader"
)

// Probe is a line of the list.
type Probe struct {
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
	// Arguments are the arguments that have names, with -v.
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

// List is what is listed.
type List struct {
	Verbose    bool
	Prototypes *prototype.Table // of -v
	Selectors  []selector.Selector
	Probes     []Probe
	Silent     remark.Silences
	near       string // what may have been meant if nothing matches
	distance   int    // of near
}

func (l *List) wants(p *reader.Probe) bool {
	for i := range l.Selectors {
		s := &l.Selectors[i]
		if s.Match(p.Path, p.Provider, p.Name) {
			return true
		}
		if instead, distance, ok := s.Near(p.Provider, p.Name); ok && (l.near == "" || distance < l.distance) {
			l.near, l.distance = instead, distance
		}
	}
	return len(l.Selectors) == 0
}

func (l *List) read(ctx context.Context, pids []int, stderr io.Writer) error {
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
		l.Silent.Announce(stderr)
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
	if len(l.Probes) == 0 {
		if l.near != "" {
			return fmt.Errorf("%w, but %s would", ErrNoneMatches, l.near)
		}
		return ErrNoneMatches
	}
	return nil
}

// ErrNoneMatches is the error of a list of no probes.
var ErrNoneMatches = errors.New("no probe matches")

// process adds the probes of proc. It leaves out what cannot be read, since the
// process may be about to end.
func (l *List) process(proc *reader.Process) {
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", proc.PID()))
	if err != nil {
		return
	}
	for p, err := range proc.Probes() {
		if err != nil || p.Live == nil || !l.wants(&p) {
			continue
		}
		lp := Probe{
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
		if l.Verbose {
			lp.Arguments = l.arguments(&p)
		}
		l.Probes = append(l.Probes, lp)
	}
	for _, d := range proc.Declared() {
		var p reader.Probe
		p.Provider, p.Name = d.Provider, d.Name
		if l.wants(&p) {
			l.Probes = append(l.Probes, Probe{
				PID: proc.PID(), Comm: strings.TrimSpace(string(comm)), Provider: d.Provider, Name: d.Name,
				State: stateDeclared, Reason: d.NotLoaded(proc.PID(), 0),
			})
		}
	}
}

// stateDeclared is the state of a probe that its process has not loaded.
const stateDeclared = "declared"

// arguments returns the arguments of a probe that have names.
func (l *List) arguments(p *reader.Probe) (all []listedArgument) {
	if p.Type != nil {
		for i := range p.Type.Fields {
			f := &p.Type.Fields[i]
			all = append(all, listedArgument{f.Name, f.CType, f.Declare()})
		}
		return all
	}
	known := l.Prototypes.Lookup(p.Provider, p.Name, p.Arguments(), notes.Class(p.Class))
	if known == nil {
		return nil
	}
	for i := range known.Params {
		all = append(all, listedArgument{known.Params[i].Name, known.Params[i].Type, known.Declare(i)})
	}
	return all
}

// declared returns the arguments as a list in parentheses, or as the note has them.
func (p *Probe) declared() string {
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

// JSON writes an object a line.
func (l *List) JSON(w io.Writer) error {
	enc := json.NewEncoder(printable.JSONWriter(w))
	enc.SetEscapeHTML(false)
	for i := range l.Probes {
		if err := enc.Encode(&l.Probes[i]); err != nil {
			return err
		}
	}
	return nil
}

// Text writes a table.
func (l *List) Text(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	arguments := ""
	if l.Verbose {
		arguments = "ARGUMENTS\t"
	}
	fmt.Fprintln(tw, "PID\tCOMM\tPROBE\t"+arguments+"WATCHED\tSITE\tBY\tPATH")
	for i := range l.Probes {
		p := &l.Probes[i]
		watched := "-"
		if p.Semaphore != nil {
			watched = fmt.Sprint(p.Count())
		}
		state, path := p.State, printable.String(p.Path)
		if p.Reason != "" && state != stateDeclared {
			state += "!"
		}
		if l.Verbose {
			arguments = p.declared() + "\t"
			if p.Reason != "" {
				path += " (refused: " + printable.String(p.Reason) + ")"
			}
		}
		fmt.Fprintf(tw, "%d\t%s\t%s:%s\t%s%s\t%s\t%s\t%s\n", p.PID, printable.String(p.Comm),
			printable.String(p.Provider), printable.String(p.Name), arguments, watched, state, p.By(), path)
	}
	return tw.Flush()
}
